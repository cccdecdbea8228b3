import { BEFORE_OTHERS } from "../../limits/call-limits.ts";

/** An item in a queue of {@link ClientTurns}. */
export interface Turned {
  /** 1 = highest; 0 = none, after all others of the same client. */
  readonly priority: number;
  /** Number of its client. */
  readonly client: number;
  /** Its cost, in any unit. */
  readonly rows: number;
  /** Start of its wait, on the clock of performance.now(). */
  readonly since: number;
  /** Its place among all, given by the turns. */
  turn: number;
}

/** Milliseconds after which an item that waits is not overtaken any more. */
export const OVERTAKEN_MS = 5000;
/** Clients whose next turns are remembered before those of the past are forgotten. */
const MAX_REMEMBERED = 1024;

/** A number by which priorities are in order, the highest first. */
export function rankOf({ priority }: Pick<Turned, "priority">): number {
  return priority === 0 ? Number.POSITIVE_INFINITY : priority;
}

/**
 * Orders a queue by clients, who take turns by what their items cost (start-time fair queueing), and the items of each
 * client by priority. Its priority counts before other clients' turns where it may ({@link BEFORE_OTHERS}). Nothing is
 * overtaken because of a priority once it has waited for {@link OVERTAKEN_MS}.
 */
export class ClientTurns<Item extends Turned> {
  /** The next turn of each client. */
  readonly #next = new Map<number, number>();
  readonly #isBefore: (one: Item, other: Item) => boolean;
  #now = 0;

  /** `isBefore`: an item goes before an earlier one of its client. */
  constructor(isBefore = (one: Item, other: Item) => rankOf(one) < rankOf(other)) {
    this.#isBefore = isBefore;
  }

  /** Puts an item into a queue, which is in order. */
  insert(queue: Item[], item: Item): void {
    item.turn = this.#turnFor(item);
    let index = queue.length;
    while (index > 0 && goesBefore(item, queue[index - 1]!)) index--;
    queue.splice(index, 0, item);
    this.#moveUp(queue, index);
  }

  /**
   * Takes an item out of a queue; the later ones of its client get the turns before theirs. False where it is not
   * there.
   */
  remove(queue: Item[], item: Item): boolean {
    let last = queue.indexOf(item);
    if (last < 0) return false;
    for (let index = last + 1; index < queue.length; index++) {
      if (queue[index]!.client !== item.client) continue;
      exchange(queue, last, index);
      last = index;
    }
    queue.splice(last, 1);
    const next = this.#next.get(item.client);
    if (next !== undefined) this.#next.set(item.client, next - Math.max(item.rows, 1));
    return true;
  }

  /** To be called with the first item of those that are taken off a queue, in their order. */
  took({ turn, client }: Item, rest: readonly Item[]): void {
    if (client !== BEFORE_OTHERS) this.#now = Math.max(this.#now, turn);
    if (rest.length === 0) this.#next.clear();
    else if (this.#next.size > MAX_REMEMBERED) this.#forgetPast();
  }

  #turnFor({ client, priority, rows }: Turned): number {
    if (client === BEFORE_OTHERS && priority !== 0) return priority - Number.MAX_SAFE_INTEGER;
    const turn = Math.max(this.#now, this.#next.get(client) ?? 0);
    this.#next.set(client, turn + Math.max(rows, 1));
    return turn;
  }

  /** Exchanges an item with those of its client that it goes before, as long as they are young. */
  #moveUp(queue: Item[], from: number): void {
    const item = queue[from]!;
    let place = from;
    for (let index = from - 1; index >= 0; index--) {
      const other = queue[index]!;
      if (other.client !== item.client) continue;
      if (!this.#isBefore(item, other) || !isYoung(other, item)) return;
      exchange(queue, place, index);
      place = index;
    }
  }

  #forgetPast(): void {
    for (const [client, next] of this.#next) if (next <= this.#now) this.#next.delete(client);
  }
}

function goesBefore(item: Turned, other: Turned): boolean {
  return item.turn < other.turn && (item.client !== BEFORE_OTHERS || isYoung(other, item));
}

function isYoung({ since }: Turned, newer: Turned): boolean {
  return newer.since - since < OVERTAKEN_MS;
}

/** Two items take each other's place and turn. */
function exchange(queue: Turned[], one: number, other: number): void {
  const [first, second] = [queue[one]!, queue[other]!];
  [first.turn, second.turn] = [second.turn, first.turn];
  queue[one] = second;
  queue[other] = first;
}
