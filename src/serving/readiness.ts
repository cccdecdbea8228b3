/** Milliseconds between two looks at readiness while anyone listens: threads end and come back without a message. */
const LOOK_MS = 250;

/** Tells listeners when what they wait for changes. */
export class Readiness {
  readonly #isReady: () => boolean;
  readonly #listeners = new Set<(ready: boolean) => void>();
  #known: boolean;
  #timer: NodeJS.Timeout | undefined;

  constructor(isReady: () => boolean) {
    this.#isReady = isReady;
    this.#known = isReady();
  }

  /** Calls back at once and at each change; returns how to stop that. */
  listen(listener: (ready: boolean) => void): () => void {
    this.look();
    this.#listeners.add(listener);
    listener(this.#known);
    this.#timer ??= setInterval(() => this.look(), LOOK_MS).unref();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  /** Looks now, where something is known to have changed. */
  look(): void {
    const ready = this.#isReady();
    if (ready === this.#known) return;
    this.#known = ready;
    for (const listener of this.#listeners) listener(ready);
  }
}
