import { rankOf } from "../model-host/queue/insert-by-priority.ts";

/** Attributes of an item in a {@link FairQueue}. */
export interface Standing {
  /** 1 = highest; 0 or absent = none, after all others. */
  readonly priority?: number | undefined;
  /** Items of the same kind share turns. */
  readonly kind: string;
}

interface Entry<Item> extends Standing {
  item: Item;
  readonly turn: number;
}

/**
 * A priority queue that serves kinds round-robin: however many items of one kind wait, the first of another comes next.
 * Each item gets the turn after its kind's last one, or the current turn if its kind has none waiting (start-time fair
 * queueing).
 */
export class FairQueue<Item> {
  readonly #entries: Entry<Item>[] = [];
  /** The next turn of each kind. */
  readonly #nextTurns = new Map<string, number>();
  #turn = 0;

  push(item: Item, { priority = 0, kind }: Standing): void {
    const turn = this.#nextTurns.get(kind) ?? this.#turn;
    this.#nextTurns.set(kind, turn + 1);
    const entry = { item, priority, kind, turn };
    let index = this.#entries.length;
    while (index > 0 && isBefore(entry, this.#entries[index - 1]!)) index--;
    this.#entries.splice(index, 0, entry);
  }

  /** Removes and returns the first item; of certain kinds, where only these may be taken. */
  shift(mayTake?: (kind: string) => boolean): Item | undefined {
    const index = mayTake === undefined ? 0 : this.#firstOf(mayTake);
    const entry = index === 0 ? this.#entries.shift() : this.#entries.splice(index, 1)[0];
    if (entry === undefined) return undefined;
    // What overtakes others takes no turn from them.
    if (index === 0) this.#turn = Math.max(this.#turn, entry.turn);
    this.#forget(entry.kind);
    return entry.item;
  }

  /** Removes an item, if it is present; those of its kind that came after it move up. */
  remove(item: Item): void {
    let last = this.#entries.findIndex((entry) => entry.item === item);
    if (last < 0) return;
    const { kind, priority } = this.#entries[last]!;
    for (let index = last + 1; index < this.#entries.length; index++) {
      const next = this.#entries[index]!;
      if (next.kind !== kind || next.priority !== priority) continue;
      this.#entries[last]!.item = next.item;
      last = index;
    }
    const [{ turn }] = this.#entries.splice(last, 1) as [Entry<Item>];
    if (this.#nextTurns.get(kind) === turn + 1) this.#nextTurns.set(kind, turn);
    this.#forget(kind);
  }

  /** Removes all items. */
  clear(): Item[] {
    this.#nextTurns.clear();
    return this.#entries.splice(0).map(({ item }) => item);
  }

  /** The place of the first item whose kind may be taken; the length where there is none. */
  #firstOf(mayTake: (kind: string) => boolean): number {
    const kinds = new Set<string>();
    for (const kind of this.#nextTurns.keys()) if (mayTake(kind)) kinds.add(kind);
    const index = kinds.size === 0 ? -1 : this.#entries.findIndex(({ kind }) => kinds.has(kind));
    return index < 0 ? this.#entries.length : index;
  }

  /** Clients choose the kinds, so unused ones must not accumulate. */
  #forget(kind: string): void {
    if (!this.#entries.some((entry) => entry.kind === kind)) this.#nextTurns.delete(kind);
  }
}

function isBefore(one: Entry<unknown>, other: Entry<unknown>): boolean {
  const [rank, otherRank] = [rankOf(one), rankOf(other)];
  return rank < otherRank || (rank === otherRank && one.turn < other.turn);
}
