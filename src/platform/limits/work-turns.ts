import type { Socket } from "node:net";
import { ListMember, MemberList } from "../async/member-list.ts";
import { isSmallPiece, TurnUse, turns } from "./event-loop-turns.ts";
import { turnClientOf } from "./open-connections.ts";
import type { TurnClient } from "./waiting-work.ts";

/** Turns of the event loop for pieces of work of one kind, such as the new connections of a server. */
export class WorkTurns {
  readonly #use: TurnUse;
  #isTaken = false;

  /** `client`: the one whose work it is. Default: it has its own turns. */
  constructor(client?: TurnClient) {
    this.#use = new TurnUse(client);
  }

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

/** The connections of one client that have requests which wait. */
class ClientArrivals extends ListMember {
  readonly connections = new MemberList<Arrivals>();
}

/** Requests of one connection that wait, the oldest first. */
class Arrivals extends ListMember {
  readonly goOns: (() => void)[] = [];
  readonly client: ClientArrivals;

  constructor(client: ClientArrivals) {
    super();
    this.client = client;
  }
}

const clients = new WeakMap<TurnClient, ClientArrivals>();
const arrivals = new WeakMap<Socket, Arrivals>();
/** The clients that have some, in the order of their turns. */
const waiting = new MemberList<ClientArrivals>();
let isScheduled = false;

/**
 * Lets a request that has arrived completely go on at the end of this turn of the event loop, in step with the others
 * of the turn; at once, if it is not small, since to decode it may take longer than many small ones. Code that does
 * the same for one request after the other stays in the processor's caches: if each went all of its way before the
 * next, a small one took nearly twice the time. If there are many, clients have one request after the other go on, in
 * turn, and so have the connections of each: one may have hundreds. `connection` carries an encrypted one.
 */
export function goOnTogether(bytes: number, connection: Socket, goOn: () => void): void {
  if (!isSmallPiece(bytes)) {
    goOn();
    return;
  }
  const own = arrivals.get(connection) ?? newArrivals(connection);
  own.goOns.push(goOn);
  own.client.connections.add(own);
  waiting.add(own.client);
  schedule();
}

function newArrivals(connection: Socket): Arrivals {
  const client = turnClientOf(connection);
  const ofClient = clients.get(client) ?? new ClientArrivals();
  clients.set(client, ofClient);
  const made = new Arrivals(ofClient);
  arrivals.set(connection, made);
  return made;
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
    const { connections } = first;
    const next = connections.first as Arrivals;
    some.push(next.goOns.shift() as () => void);
    connections.delete(next);
    if (next.goOns.length > 0) connections.add(next);
    waiting.delete(first);
    if (connections.size > 0) waiting.add(first);
  }
  if (waiting.size > 0) schedule();
  for (const goOn of some) goOn();
}
