/** Characters that one source may write to the log at once, and how many more each second. */
const [BURST, PER_SECOND] = [512 * 1024, 2048 * 1024];
/** Characters that each event takes in addition to its text: writing it costs the main thread ten microseconds. */
const EVENT_SIZE = 500;

/** Saved before hooks, in whose threads this runs too, may replace it. */
const { now } = Date;

/** Limits what one thread or process writes to the log: its events are written in the main thread, as all are. */
export class LogLimit {
  #left = BURST;
  #at = now();
  #lost = 0;

  /**
   * True for an event of so many characters that may be written. `tell` is called with a text when events begin to be
   * left out, and again with the number of those it was asked for once there is room.
   */
  takes(size: number, tell: (text: string) => void): boolean {
    this.#refill();
    if (this.#left < (this.#lost > 0 ? BURST / 2 : 1)) {
      if (this.#lost++ === 0)
        tell(`more than ${PER_SECOND / 2 ** 20} MB/s are written to the log; the rest is left out`);
      return false;
    }
    if (this.#lost > 0) tell(`at least ${this.#lost} events of the log were left out`);
    this.#lost = 0;
    this.#left -= EVENT_SIZE + size;
    return true;
  }

  /** True if events are left out at the moment. */
  get isFull(): boolean {
    return this.#lost > 0;
  }

  #refill(): void {
    const time = now();
    const more = (Math.max(0, time - this.#at) / 1000) * PER_SECOND;
    this.#left = Math.min(BURST, this.#left + more);
    this.#at = time;
  }
}
