/** Duration of a run that may block the model thread: running it in another thread takes about 25 µs itself. */
const QUICK_MS = 0.3;
/** Runs in a row that have to be quick before the next one is trusted to be. */
const ENOUGH = 3;

/** Predicts from a model's earlier runs if the next one will be quick. */
export class Pace {
  #inARow = 0;
  #bytes = 0;

  /** Predicts a quick run on this many bytes of inputs: at most as many as earlier quick runs had. */
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
