import { ServingError } from "../errors.ts";
import { Backoff } from "../platform/async/backoff.ts";
import { limitedSignal } from "../platform/async/cancel-source.ts";
import { CallError } from "./call-error.ts";
import { type ConnectOptions, headersOf } from "./connect-options.ts";
import type { TransportCall } from "./transport.ts";

/** Choices for one call, in addition to those of its connection. */
export interface CallChoices {
  /** Time of the call with its retries, in milliseconds. */
  readonly timeoutMs?: number;
  /** Gives the call up. */
  readonly signal?: AbortSignal;
  readonly metadata?: Readonly<Record<string, string>>;
}

const DEFAULTS = { attempts: 4, firstDelayMs: 100, budget: 10 } as const;
const MAX_DELAY_MS = 5000;
/** A server that asks for a longer wait than this gets no second call: its error says more than a client that hangs. */
const MAX_ASKED_MS = 30_000;

/** Sends calls with the limits of a connection, and again if that is safe, while its budget lasts. */
export class CallSender {
  readonly #options: ConnectOptions;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #retries: Required<NonNullable<Exclude<ConnectOptions["retries"], false>>>;
  readonly #budget: RetryBudget;

  constructor(options: ConnectOptions) {
    this.#options = options;
    this.#headers = headersOf(options);
    const { retries = {} } = options;
    this.#retries = { ...DEFAULTS, ...(retries === false ? { attempts: 1 } : retries) };
    this.#budget = new RetryBudget(this.#retries.budget);
  }

  /** The limits of a call, and its headers. */
  open({ timeoutMs = this.#options.timeoutMs, signal, metadata = {} }: CallChoices): TransportCall {
    const lower = Object.entries(metadata).map(([name, value]) => [name.toLowerCase(), value]);
    return {
      signal: limitedSignal(signal, timeoutMs),
      deadline: timeoutMs === undefined ? undefined : Date.now() + timeoutMs,
      metadata: { ...this.#headers, ...Object.fromEntries(lower) },
    };
  }

  /** Runs a call; rejects with its last {@link CallError}, or a `cancelled` or `deadline_exceeded` one. */
  async send<Result>(call: TransportCall, run: () => Promise<Result>): Promise<Result> {
    const backoff = new Backoff({ firstMs: this.#retries.firstDelayMs, maxMs: MAX_DELAY_MS });
    for (let attempt = 1; ; attempt++) {
      try {
        call.signal.throwIfAborted();
        const result = await run();
        this.#budget.succeeded();
        return result;
      } catch (reason) {
        const error = call.signal.aborted ? abortError(call.signal) : reason;
        const delayMs = this.#delayBefore(error, backoff.next());
        const isLate = call.deadline !== undefined && Date.now() + (delayMs ?? 0) >= call.deadline;
        if (delayMs === undefined || attempt >= this.#retries.attempts || isLate) throw error;
        await pause(delayMs, call.signal);
      }
    }
  }

  /** Milliseconds after which a failed call is to be sent again; undefined = not at all. Jitter keeps clients apart. */
  #delayBefore(error: unknown, backoffMs: number): number | undefined {
    if (!(error instanceof CallError) || !error.isSafeToRetry || !this.#budget.failed()) return undefined;
    const { retryAfterMs = backoffMs * (0.8 + 0.4 * Math.random()) } = error;
    return retryAfterMs > MAX_ASKED_MS ? undefined : retryAfterMs;
  }
}

/** The error of a call whose signal has aborted: `cancelled` with the signal's reason, or `deadline_exceeded`. */
export function abortError({ reason: cause }: AbortSignal): CallError {
  if (ServingError.from(cause).code === "deadline_exceeded") return lateError(cause);
  return new CallError("cancelled", "The call was given up by its signal.", { cause });
}

/** The error of an answer that ended early: why the call was given up, or else the reason that came. */
export function endError({ signal, deadline = Number.POSITIVE_INFINITY }: TransportCall, reason: unknown): unknown {
  if (signal.aborted) return abortError(signal);
  // The server may tell it first.
  return Date.now() >= deadline ? lateError(reason) : reason;
}

function lateError(cause: unknown): CallError {
  const message = "The call's time was up before the answer came. Give it a longer timeoutMs.";
  return new CallError("deadline_exceeded", message, { cause });
}

/** Ends early if the signal aborts; the next attempt then rejects. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end, { once: true });
  });
}

/** Part of a failure's cost that a success gives back (gRPC's A6, "throttling retry attempts"). */
const TOKENS_OF_SUCCESS = 0.1;

/** Limits the retries of all calls of a connection together, so that clients do not keep down a server that is down. */
class RetryBudget {
  readonly #most: number;
  #tokens: number;

  constructor(most: number) {
    this.#most = most;
    this.#tokens = most;
  }

  succeeded(): void {
    this.#tokens = Math.min(this.#most, this.#tokens + TOKENS_OF_SUCCESS);
  }

  /** Counts a failure; true if its call may be sent again. */
  failed(): boolean {
    this.#tokens = Math.max(0, this.#tokens - 1);
    return this.#tokens > this.#most / 2;
  }
}
