import { ListMember, MemberList } from "../async/member-list.ts";
import { isSmallPiece, TurnUse, turns } from "./event-loop-turns.ts";

/** Turns of the event loop for pieces of work of one kind, such as the new connections of a server. */
export class WorkTurns {
  readonly #use = new TurnUse();
  #isTaken = false;

  /** Does a piece of work now, or in a later turn; work of the same kind that it starts belongs to it. */
  take(work: () => void): void {
    if (this.#isTaken) work();
    else if (turns.begin(this.#use) > 0) this.#do(work);
    else {
      turns.wait(this.#use, () => {
        turns.resume(this.#use);
        this.#do(work);
      });
    }
  }

  #do(work: () => void): void {
    this.#isTaken = true;
    try {
      work();
    } finally {
      this.#isTaken = false;
    }
  }
}

/** Number of requests that go on together at most; further ones do so after data has been read again. */
const MAX_TOGETHER = 32;

/** Requests of one connection that wait, the oldest first. */
class Arrivals extends ListMember {
  readonly goOns: (() => void)[] = [];
}

const arrivals = new WeakMap<object, Arrivals>();
/** Those of the connections that have some. */
const waiting = new MemberList<Arrivals>();
let isScheduled = false;

/**
 * Lets a request that has arrived completely go on at the end of this turn of the event loop, in step with the others
 * of the turn; at once, if it is not small, since to decode it may take longer than many small ones. Code that does
 * the same for one request after the other stays in the processor's caches: if each went all of its way before the
 * next, a small one took nearly twice the time. If there are many, connections have one request after the other go on,
 * in turn: one may have hundreds.
 */
export function goOnTogether(bytes: number, connection: object, goOn: () => void): void {
  if (!isSmallPiece(bytes)) {
    goOn();
    return;
  }
  const known = arrivals.get(connection);
  const own = known ?? new Arrivals();
  if (known === undefined) arrivals.set(connection, own);
  own.goOns.push(goOn);
  waiting.add(own);
  schedule();
}

function schedule(): void {
  if (isScheduled) return;
  isScheduled = true;
  setImmediate(goOnWithSome);
}

/** All of these are called before any microtask runs, so that the requests then go on one await at a time, in turn. */
function goOnWithSome(): void {
  isScheduled = false;
  const some: (() => void)[] = [];
  for (let { first } = waiting; first !== undefined && some.length < MAX_TOGETHER; first = waiting.first) {
    some.push(first.goOns.shift() as () => void);
    waiting.delete(first);
    if (first.goOns.length > 0) waiting.add(first);
  }
  if (waiting.size > 0) schedule();
  for (const goOn of some) goOn();
}
