/**
 * A request's signal: an AbortSignal, or a {@link CancelSource}, which is the same to code that only listens. {@link
 * toAbortSignal} makes it one that may be passed to anything.
 */
export type CancelSignal = AbortSignal | CancelSource;

/** Says once that something is over, and why, as an AbortController does, whose making takes a tenth of a small request's time. */
export class CancelSource {
  readonly #listeners: (() => void)[] = [];
  #aborted = false;
  #reason: unknown;
  #controller: AbortController | undefined;

  get aborted(): boolean {
    return this.#aborted;
  }

  /** The reason given to {@link abort}; undefined before. */
  get reason(): unknown {
    return this.#reason;
  }

  /** Tells every listener; only the first call counts. */
  abort(reason: unknown = new DOMException("This operation was aborted", "AbortError")): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
    for (const listener of this.#listeners.splice(0)) listener();
  }

  throwIfAborted(): void {
    if (this.#aborted) throw this.#reason;
  }

  /** The listener is called once, if the event is still to come. */
  addEventListener(_event: "abort", listener: () => void, _options?: { readonly once?: boolean }): void {
    if (!this.#aborted) this.#listeners.push(listener);
  }

  removeEventListener(_event: "abort", listener: () => void): void {
    const index = this.#listeners.indexOf(listener);
    if (index >= 0) this.#listeners.splice(index, 1);
  }

  /** An AbortSignal that says the same; made when it is first asked for. */
  toAbortSignal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }
}

/** The signal as what fetch, drivers and hooks take. */
export function toAbortSignal(signal: CancelSignal): AbortSignal {
  return signal instanceof CancelSource ? signal.toAbortSignal() : signal;
}
