/** An answer in parts that holds a place for which others may wait. */
export interface PlaceHolder {
  /** The number of its client. */
  readonly client: number;
  /** Time since which its reader is waited for, on the clock of performance.now(); undefined = it is not. */
  readonly awaitedSince: number | undefined;
  /** Told that others wait for its place. */
  crowded(): void;
}

/** Time between two looks, in milliseconds. */
const LOOK_MS = 1000;

/**
 * The answers in parts that hold a number of places: a reader that takes its time would keep its place from others for
 * as long as it likes. While some wait whose clients hold fewer, one answer after the other is told that is waiting for
 * its reader, those of the client with most of them first; what knows that reader decides.
 */
export class HeldPlaces {
  readonly #clientsThatWait: () => Iterable<number>;
  /** With the time at which each was told last, or began. */
  readonly #holders = new Map<PlaceHolder, number>();
  #timer: NodeJS.Timeout | undefined;

  /** `clientsThatWait`: the clients of all that wait for a place, by their numbers. */
  constructor(clientsThatWait: () => Iterable<number>) {
    this.#clientsThatWait = clientsThatWait;
  }

  /** Adds one until it is deleted. */
  add(holder: PlaceHolder): void {
    this.#holders.set(holder, performance.now());
    this.watch();
  }

  /** Takes one out. */
  delete(holder: PlaceHolder): void {
    this.#holders.delete(holder);
  }

  /** To be called when one begins to wait. */
  watch(): void {
    if (this.#holders.size > 0) this.#timer ??= setTimeout(() => this.#look(), LOOK_MS).unref();
  }

  #look(): void {
    this.#timer = undefined;
    const counts = new Map<number, number>();
    for (const { client } of this.#holders.keys()) counts.set(client, heldBy(counts, client) + 1);
    let fewest = Number.POSITIVE_INFINITY;
    for (const client of this.#clientsThatWait()) fewest = Math.min(fewest, heldBy(counts, client));
    // None waits any more.
    if (fewest === Number.POSITIVE_INFINITY) return;
    this.watch();
    const [next] = Array.from(this.#holders, ([holder, toldAt]) => ({
      holder,
      toldAt,
      held: heldBy(counts, holder.client),
    }))
      .filter(({ holder, held }) => holder.awaitedSince !== undefined && held > fewest)
      .sort((a, b) => a.toldAt - b.toldAt || b.held - a.held || sinceOf(a) - sinceOf(b));
    if (next === undefined) return;
    this.#holders.set(next.holder, performance.now());
    next.holder.crowded();
  }
}

function heldBy(counts: ReadonlyMap<number, number>, client: number): number {
  return counts.get(client) ?? 0;
}

function sinceOf({ holder }: { readonly holder: PlaceHolder }): number {
  return holder.awaitedSince ?? Number.POSITIVE_INFINITY;
}
