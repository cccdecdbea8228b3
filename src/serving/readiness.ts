/**
 * Time between two checks of readiness while there are listeners, in milliseconds: threads end and are replaced without
 * a message.
 */
const CHECK_MS = 250;

/** Notifies listeners when readiness changes. */
export class Readiness {
  readonly #isReady: () => boolean;
  readonly #listeners = new Set<(ready: boolean) => void>();
  #known: boolean;
  #timer: NodeJS.Timeout | undefined;

  constructor(isReady: () => boolean) {
    this.#isReady = isReady;
    this.#known = isReady();
  }

  /** Calls back immediately and at each change; returns a function that removes the listener. */
  listen(listener: (ready: boolean) => void): () => void {
    this.check();
    this.#listeners.add(listener);
    listener(this.#known);
    this.#timer ??= setInterval(() => this.check(), CHECK_MS).unref();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  /** Checks now, after a known change. */
  check(): void {
    const ready = this.#isReady();
    if (ready === this.#known) return;
    this.#known = ready;
    for (const listener of this.#listeners) listener(ready);
  }
}
