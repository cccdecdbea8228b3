/** Runs in a row that have to be quick before the next one is trusted to be. */
const ENOUGH = 3;

/** Predicts from a model's earlier runs if the next one will be quick. */
export class QuickRuns {
  readonly #quickMs: number;
  #inARow = 0;
  #bytes = 0;

  /** `quickMs`: longest duration of a quick run, in milliseconds. */
  constructor(quickMs: number) {
    this.#quickMs = quickMs;
  }

  /** Predicts a quick run on this many bytes of inputs: at most as many as earlier quick runs had. */
  isQuick(bytes: number): boolean {
    return this.#inARow >= ENOUGH && bytes <= this.#bytes;
  }

  /** Takes note of a run. */
  note(bytes: number, ms: number): void {
    if (ms > this.#quickMs) {
      this.#inARow = 0;
      return;
    }
    this.#bytes = this.#inARow === 0 ? bytes : Math.max(bytes, this.#bytes);
    this.#inARow++;
  }
}
