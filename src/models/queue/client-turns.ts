import { BEFORE_OTHERS, type CallLimits } from "../../platform/limits/call-limits.ts";

/** An item in a queue of {@link ClientTurns}. */
export interface Turned {
  /** Its client, and its priority among those of its client. */
  readonly limits: CallLimits;
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
export function rankOf({ limits }: Pick<Turned, "limits">): number {
  return limits.priority || Number.POSITIVE_INFINITY;
}

/** The number of an item's client. */
export function clientOf({ limits }: Pick<Turned, "limits">): number {
  return limits.client ?? 0;
}

/** The highest priorities, by client, of items that others are taken past; what they go before must not be. */
export class PassedRanks {
  readonly #ranks = new Map<number, number>();

  add(item: Turned): void {
    if (!this.goesBefore(item)) this.#ranks.set(clientOf(item), rankOf(item));
  }

  goesBefore(item: Turned): boolean {
    return (this.#ranks.get(clientOf(item)) ?? Number.POSITIVE_INFINITY) < rankOf(item);
  }
}

/**
 * Orders a queue by clients, who take turns by what their items cost (start-time fair queueing), and the items of each
 * client by priority. Its priority counts before other clients' turns if it may ({@link BEFORE_OTHERS}). Nothing is
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
   * Takes an item out of a queue; the later ones of its client get the turns before theirs. False if it is not
   * there.
   */
  remove(queue: Item[], item: Item): boolean {
    let last = queue.indexOf(item);
    if (last < 0) return false;
    const client = clientOf(item);
    for (let index = last + 1; index < queue.length; index++) {
      if (clientOf(queue[index]!) !== client) continue;
      exchange(queue, last, index);
      last = index;
    }
    queue.splice(last, 1);
    const next = this.#next.get(client);
    if (next !== undefined) this.#next.set(client, next - Math.max(item.rows, 1));
    return true;
  }

  /** To be called with the first item of those that are taken off a queue, in their order. */
  took(item: Item, rest: readonly Item[]): void {
    if (clientOf(item) !== BEFORE_OTHERS) this.#now = Math.max(this.#now, item.turn);
    if (rest.length === 0) this.#next.clear();
    else if (this.#next.size > MAX_REMEMBERED) this.#forgetPast();
  }

  #turnFor({ limits, rows }: Turned): number {
    const { client = 0, priority = 0 } = limits;
    if (client === BEFORE_OTHERS && priority !== 0) return priority - Number.MAX_SAFE_INTEGER;
    const turn = Math.max(this.#now, this.#next.get(client) ?? 0);
    this.#next.set(client, turn + Math.max(rows, 1));
    return turn;
  }

  /** Exchanges an item with those of its client that it goes before, as long as they are young. */
  #moveUp(queue: Item[], from: number): void {
    const item = queue[from]!;
    const client = clientOf(item);
    let place = from;
    for (let index = from - 1; index >= 0; index--) {
      const other = queue[index]!;
      if (clientOf(other) !== client) continue;
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
  return item.turn < other.turn && (clientOf(item) !== BEFORE_OTHERS || isYoung(other, item));
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
