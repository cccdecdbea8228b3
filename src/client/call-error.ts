import { type ErrorCode, ServingError, type ServingErrorOptions } from "../errors.ts";

/** Facts about a failed call. */
interface CallFailure extends ServingErrorOptions {
  /** HTTP's status, or gRPC's number; absent = there was no answer. */
  readonly status?: number;
  /** The server's own words. */
  readonly serverText?: string;
  /** True if the server cannot have run anything, so that sending the call again is safe. */
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

/** An error within a stream. */
interface StreamedFailure {
  readonly text: string;
  /** `unknown` of a server that tells none. */
  readonly code: ErrorCode;
  /** As {@link CallError.isSafeToRetry}. Default false. */
  readonly isSafeToRetry?: boolean;
}

/** The error that a server gives in place of an answer of a stream; only servers like this one tell its code. */
export function streamedError(
  address: string,
  { text: serverText, code, isSafeToRetry = false }: StreamedFailure,
): CallError {
  return new CallError(code, `${address} answered in the stream: ${serverText}`, { serverText, isSafeToRetry });
}

/** A reason for which a connection could not be encrypted, and what to do. */
interface EncryptionProblem {
  /** Undefined = the text says it. */
  readonly meaning: string | undefined;
  readonly advice: string;
}

interface KnownProblem {
  /** Words of OpenSSL and Node. */
  readonly pattern: RegExp;
  readonly meaning?: string;
  readonly http: string;
  readonly grpc: string;
}

/** In order: the first one that fits counts. */
const PROBLEMS: readonly KnownProblem[] = [
  {
    pattern: /wrong version number|packet length too long|before secure TLS connection/,
    meaning: "it is not encrypted there",
    http: "Name it with http://.",
    grpc: "Name it with grpc://.",
  },
  {
    pattern: /certificate required|handshake failure|bad certificate/,
    meaning: "it asks its clients for a certificate",
    http: "Give one through the fetch option.",
    grpc: "Give one as tls: { cert, key }; the program kserving has none to show, but for its proxy and health.",
  },
  {
    pattern: /certificate|altname|issuer/i,
    http: "Start Node with NODE_EXTRA_CA_CERTS=FILE, the authority that signed it, or use the name that it is for.",
    grpc: "Give the authority that signed it as tls: { ca } or by NODE_EXTRA_CA_CERTS, or use the name that it is for.",
  },
];

/** The problem of encryption in the text of a failed connection; undefined if there is none. */
export function encryptionProblem(text: string, transport: "http" | "grpc"): EncryptionProblem | undefined {
  const found = PROBLEMS.find(({ pattern }) => pattern.test(text));
  return found && { meaning: found.meaning, advice: found[transport] };
}
