/**
 * A request's signal: an AbortSignal or a {@link CancelSource}, which are the same to code that only listens. {@link
 * toAbortSignal} makes it an AbortSignal, for any other code.
 */
export type CancelSignal = AbortSignal | CancelSource;

/** Number up to which each gets an array that is as large as it has to be. */
const FEW_LISTENERS = 3;
/** Of sources that have none; never changed. */
const NO_LISTENERS: (() => void)[] = [];

/**
 * Notifies listeners once of the end of a request and its reason, like an AbortController, whose creation takes a tenth
 * of a small request's time.
 */
export class CancelSource {
  #listeners = NO_LISTENERS;
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

  /** Notifies every listener; only the first call has an effect. */
  abort(reason: unknown = new DOMException("This operation was aborted", "AbortError")): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
    const listeners = this.#listeners;
    this.#listeners = NO_LISTENERS;
    for (const listener of listeners) listener();
  }

  throwIfAborted(): void {
    if (this.#aborted) throw this.#reason;
  }

  /** The listener is called once, unless the event has already occurred. */
  addEventListener(_event: "abort", listener: () => void, _options?: { readonly once?: boolean }): void {
    if (this.#aborted) return;
    // An array that a first item is pushed to gets room for 16 more: a stream has several sources while it is open.
    if (this.#listeners.length === 0) this.#listeners = [listener];
    else if (this.#listeners.length < FEW_LISTENERS) this.#listeners = this.#listeners.concat(listener);
    else this.#listeners.push(listener);
  }

  removeEventListener(_event: "abort", listener: () => void): void {
    // Nearly always the one that was added last, for as long as a step of its request takes.
    const index = this.#listeners.lastIndexOf(listener);
    if (index < 0) return;
    if (index === this.#listeners.length - 1) this.#listeners.pop();
    else this.#listeners.splice(index, 1);
  }

  /** An AbortSignal with the same state, created at the first use. */
  toAbortSignal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }
}

/** A source that aborts with a signal too, until it is told to `leave` that. */
export function followSignal(signal: CancelSignal): { readonly source: CancelSource; readonly leave: () => void } {
  const source = new CancelSource();
  const passOn = () => source.abort(signal.reason);
  if (signal.aborted) passOn();
  signal.addEventListener("abort", passOn, { once: true });
  return { source, leave: () => signal.removeEventListener("abort", passOn) };
}

/** The signal as fetch, drivers and hooks need it. */
export function toAbortSignal(signal: CancelSignal): AbortSignal {
  return signal instanceof CancelSource ? signal.toAbortSignal() : signal;
}

/** Settles as the promise does, or rejects with the signal's reason when that aborts first. */
export function unlessAborted<Result>(promise: Promise<Result>, signal: CancelSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    promise.then(
      (result) => {
        signal.removeEventListener("abort", abort);
        resolve(result);
      },
      (reason) => {
        signal.removeEventListener("abort", abort);
        reject(reason);
      },
    );
  });
}

/**
 * Runs something with a signal of its own that follows another, so that it can be ended alone. Settles as that does, or
 * rejects with the reason as soon as its signal aborts.
 */
export async function withOwnSignal<Result>(
  signal: CancelSignal,
  run: (own: CancelSource) => Promise<Result>,
): Promise<Result> {
  signal.throwIfAborted();
  const { source, leave } = followSignal(signal);
  try {
    return await unlessAborted(run(source), source);
  } finally {
    leave();
  }
}

/** Timeouts by the signals that follow them: Node.js 20 frees a timeout that nothing else holds before it fires. */
const timeouts = new WeakMap<AbortSignal, AbortSignal>();

/** A signal that aborts with the given one, and after a time with `TimeoutError`; undefined = no limit. */
export function limitedSignal(signal: AbortSignal | undefined, timeoutMs: number | undefined): AbortSignal {
  const given = signal === undefined ? [] : [signal];
  if (timeoutMs === undefined) return AbortSignal.any(given);
  const timeout = AbortSignal.timeout(timeoutMs);
  const limited = AbortSignal.any([...given, timeout]);
  timeouts.set(limited, timeout);
  return limited;
}
