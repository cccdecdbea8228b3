/** A run that takes no longer than this may hold up the model thread: handing it to another one takes some 25 µs itself. */
const QUICK_MS = 0.3;
/** Runs in a row that have to be quick before the next one is trusted to be. */
const ENOUGH = 3;

/** Tells from a model's earlier runs whether the next one will be quick. */
export class Pace {
  #inARow = 0;
  #bytes = 0;

  /** Predicts a quick run on so many bytes of inputs: not more than the quick ones before had. */
  isQuick(bytes: number): boolean {
    return this.#inARow >= ENOUGH && bytes <= this.#bytes;
  }

  /** Takes note of a run. */
  note(bytes: number, ms: number): void {
    if (ms > QUICK_MS) {
      this.#inARow = 0;
      return;
    }
    this.#bytes = this.#inARow === 0 ? bytes : Math.max(bytes, this.#bytes);
    this.#inARow++;
  }
}
