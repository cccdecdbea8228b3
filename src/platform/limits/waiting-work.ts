import { ListMember, MemberList } from "../async/member-list.ts";

/** The uses of one connection, as far as they tell how long its next piece of work takes, and its client. */
export interface ExpectedUse {
  readonly expectedMs: number;
  readonly client: TurnClient;
}

/** Added to the expected time of work that is not small, in milliseconds, so that all small work is chosen first. */
const LARGE_PENALTY_MS = 1000;

/** A piece of work that waits. */
export class WaitingPiece extends ListMember {
  readonly use: ExpectedUse;
  readonly goOn: () => void;
  /** True if it has few bytes to handle, as far as they are known. */
  readonly isSmall: () => boolean;
  /** Only for {@link WaitingWork}: its number in the order of arrival, and the next piece of the same use. */
  order = 0;
  next: WaitingPiece | undefined;

  constructor(use: ExpectedUse, goOn: () => void, isSmall: () => boolean) {
    super();
    this.use = use;
    this.goOn = goOn;
    this.isSmall = isSmall;
  }
}

/** A client that takes turns with others, whatever number of connections it has. */
export class TurnClient extends ListMember {
  /** True for work of the server itself, which makes no second client of a lone one. */
  readonly isServer: boolean;
  /** Only for {@link WaitingWork}: its pieces of work that wait, the oldest first. */
  readonly waiting = new MemberList<WaitingPiece>();
  #turn = 0;
  #usedMs = 0;

  constructor(isServer = false) {
    super();
    this.isServer = isServer;
  }

  /** Counts time that its work has taken in a turn of the event loop, by the turn's number. */
  spend(turn: number, ms: number): void {
    this.#usedMs = this.usedMs(turn) + ms;
    this.#turn = turn;
  }

  /** Time that its work has taken in a turn, in milliseconds. */
  usedMs(turn: number): number {
    return turn === this.#turn ? this.#usedMs : 0;
  }
}

/** Pieces of one use, of which the oldest comes first. */
interface Group {
  first: WaitingPiece;
  last: WaitingPiece;
  expectedMs: number;
  /** Index in the heap. */
  at: number;
}

/**
 * Pieces of work that wait, of which the oldest of the client whose turn it is, and the one that should take least, can
 * be taken, each in a time that hardly grows with their number: a client may have hundreds of requests wait on each of
 * its connections.
 */
export class WaitingWork {
  /** Those with pieces, in the order of their turns. */
  readonly #clients = new MemberList<TurnClient>();
  readonly #groups = new Map<ExpectedUse, Group>();
  /** A binary heap: none should take less than the one at half its index. */
  readonly #heap: Group[] = [];
  #count = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Expected time of the piece that should take least, in milliseconds. */
  get leastMs(): number {
    return this.#heap[0]?.expectedMs ?? Number.POSITIVE_INFINITY;
  }

  add(piece: WaitingPiece): void {
    piece.order = this.#count++;
    this.#size++;
    piece.use.client.waiting.add(piece);
    this.#clients.add(piece.use.client);
    const group = this.#groups.get(piece.use);
    if (group !== undefined) {
      group.last.next = piece;
      group.last = piece;
      return;
    }
    const made = { first: piece, last: piece, expectedMs: expectedMs(piece), at: this.#heap.length };
    this.#groups.set(piece.use, made);
    this.#heap.push(made);
    this.#rise(made);
  }

  /** Takes the piece that has waited longest of the client that was served longest ago; there must be one. */
  takeOldest(): WaitingPiece {
    const { waiting } = this.#clients.first as TurnClient;
    // It is the first one of its use too.
    const { use } = waiting.first as WaitingPiece;
    return this.#take(this.#groups.get(use) as Group);
  }

  /** Takes the piece that should take least, the oldest of several; there must be one. */
  takeSmallest(): WaitingPiece {
    return this.#take(this.#heap[0] as Group);
  }

  /** To be called once the expected time of a use has changed. */
  update(use: ExpectedUse): void {
    const group = this.size > 0 ? this.#groups.get(use) : undefined;
    if (group !== undefined) this.#place(group);
  }

  #take(group: Group): WaitingPiece {
    const { first } = group;
    this.#size--;
    this.#passTurn(first);
    if (first.next !== undefined) {
      group.first = first.next;
      this.#place(group);
      return first;
    }
    this.#groups.delete(first.use);
    const last = this.#heap.pop() as Group;
    if (last !== group) {
      this.#put(last, group.at);
      this.#place(last);
    }
    return first;
  }

  #passTurn(taken: WaitingPiece): void {
    const { client } = taken.use;
    client.waiting.delete(taken);
    this.#clients.delete(client);
    if (client.waiting.size > 0) this.#clients.add(client);
  }

  #place(group: Group): void {
    group.expectedMs = expectedMs(group.first);
    this.#rise(group);
    this.#sink(group);
  }

  #rise(group: Group): void {
    while (group.at > 0) {
      const above = this.#heap[(group.at - 1) >> 1] as Group;
      if (!isBefore(group, above)) return;
      this.#swap(group, above);
    }
  }

  #sink(group: Group): void {
    for (;;) {
      const left = this.#heap[2 * group.at + 1];
      if (left === undefined) return;
      const right = this.#heap[left.at + 1];
      const below = right !== undefined && isBefore(right, left) ? right : left;
      if (!isBefore(below, group)) return;
      this.#swap(group, below);
    }
  }

  #swap(one: Group, other: Group): void {
    const { at } = one;
    this.#put(one, other.at);
    this.#put(other, at);
  }

  #put(group: Group, at: number): void {
    group.at = at;
    this.#heap[at] = group;
  }
}

function expectedMs({ use, isSmall }: WaitingPiece): number {
  return isSmall() ? use.expectedMs : use.expectedMs + LARGE_PENALTY_MS;
}

function isBefore(one: Group, other: Group): boolean {
  if (one.expectedMs !== other.expectedMs) return one.expectedMs < other.expectedMs;
  return one.first.order < other.first.order;
}
