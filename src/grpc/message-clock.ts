import { ListMember, MemberList } from "../platform/async/member-list.ts";

/** A time limit, and the action at its end. */
export class Timed extends ListMember {
  readonly end: () => void;
  /** The start of the wait, on the clock of performance.now(). */
  since = 0;

  constructor(end: () => void) {
    super();
    this.end = end;
  }
}

/** Time limits with one timer for all: a timer for each takes 3 % of a small request's time. */
export class MessageClock {
  readonly #timeoutMs: number;
  /** The oldest first. */
  readonly #awaited = new MemberList<Timed>();
  #isRunning = false;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** Ends something once the time is over, unless it is taken out again before. */
  add(timed: Timed): void {
    timed.since = performance.now();
    this.#awaited.add(timed);
    if (!this.#isRunning) this.#sleep(this.#timeoutMs);
  }

  /** Takes out something that came, or is over. */
  delete(timed: Timed): void {
    this.#awaited.delete(timed);
  }

  #sleep(ms: number): void {
    this.#isRunning = true;
    setTimeout(() => this.#wake(), ms).unref();
  }

  #wake(): void {
    this.#isRunning = false;
    for (let { first } = this.#awaited; first !== undefined; first = this.#awaited.first) {
      const leftMs = first.since + this.#timeoutMs - performance.now();
      if (leftMs > 0) {
        this.#sleep(leftMs);
        return;
      }
      this.#awaited.delete(first);
      first.end();
    }
  }
}
