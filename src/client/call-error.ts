import { type ErrorCode, ServingError, type ServingErrorOptions } from "../errors.ts";

/** Facts about a failed call. */
export interface CallFailure extends ServingErrorOptions {
  /** HTTP's status, or gRPC's number; absent = there was no answer. */
  readonly status?: number;
  /** The server's own words. */
  readonly serverText?: string;
  /** True where the server cannot have run anything, so that sending the call again is safe. */
  readonly isSafeToRetry?: boolean;
  /** Milliseconds after which the server wants to be asked again. */
  readonly retryAfterMs?: number | undefined;
}

/** A call that failed: `code` says why, the message has the server's text and what to do. */
export class CallError extends ServingError {
  readonly status: number | undefined;
  readonly serverText: string | undefined;
  readonly isSafeToRetry: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, failure: CallFailure = {}) {
    super(code, message, failure);
    this.status = failure.status;
    this.serverText = failure.serverText;
    this.isSafeToRetry = failure.isSafeToRetry ?? false;
    this.retryAfterMs = failure.retryAfterMs;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof ServingError && "isSafeToRetry" in value;
  }
}

/** Sentences that say what to do about an error of a server, after its text. */
const ADVICE: Partial<Record<ErrorCode, string>> = {
  unauthenticated: "Give connect() { credentials: { token } } or { credentials: { user, password } }.",
  permission_denied: "Ask who runs the server for the permission.",
  unavailable: "Try again later.",
  deadline_exceeded: "Give the call a longer timeoutMs.",
  resource_exhausted: "Send less, or later.",
};

/** The message about an answer that is an error: who answered what, and what to do. */
export function answeredText(address: string, answer: string, code: ErrorCode): string {
  const advice = ADVICE[code];
  return `${address} answered ${answer}${advice === undefined ? "" : `${/[.!?]\s*$/.test(answer) ? "" : "."} ${advice}`}`;
}
