import { hidePaths } from "./platform/text/hide-paths.ts";
import { maskSecrets } from "./platform/text/mask-secrets.ts";
import { shorten } from "./platform/text/shorten.ts";

/** Every way a request or a start can fail: gRPC's code names, with the numbers that the wires send. */
export const STATUS = {
  cancelled: { grpc: 1, http: 499 },
  unknown: { grpc: 2, http: 500 },
  invalid_argument: { grpc: 3, http: 400 },
  deadline_exceeded: { grpc: 4, http: 504 },
  not_found: { grpc: 5, http: 404 },
  already_exists: { grpc: 6, http: 409 },
  permission_denied: { grpc: 7, http: 403 },
  resource_exhausted: { grpc: 8, http: 429 },
  failed_precondition: { grpc: 9, http: 400 },
  aborted: { grpc: 10, http: 409 },
  out_of_range: { grpc: 11, http: 400 },
  unimplemented: { grpc: 12, http: 501 },
  internal: { grpc: 13, http: 500 },
  unavailable: { grpc: 14, http: 503 },
  data_loss: { grpc: 15, http: 500 },
  unauthenticated: { grpc: 16, http: 401 },
} as const;

/** A key of {@link STATUS}. */
export type ErrorCode = keyof typeof STATUS;

/**
 * Shared by every copy of this module in the process, so that a hook file's own copy
 * of the package throws errors we recognise.
 */
const BRAND = Symbol.for("kserving.ServingError");

/** A fact about an error for programs, as gRPC carries it: a `google.protobuf.Any`. */
export interface ErrorDetail {
  /** The type of its message: `type.googleapis.com/google.rpc.RetryInfo`. */
  readonly type: string;
  /** The message's bytes, in base64. */
  readonly value: string;
}

/** Checks details that a hook gave, in JavaScript perhaps. */
export function isErrorDetails(value: unknown): value is readonly ErrorDetail[] {
  if (!Array.isArray(value)) return false;
  return value.every((one) => typeof one?.type === "string" && typeof one.value === "string");
}

/** Options of a {@link ServingError}. */
export interface ServingErrorOptions extends ErrorOptions {
  readonly details?: readonly ErrorDetail[] | undefined;
}

/**
 * The only error that crosses a folder's edge.
 * The message goes to the client, so it holds no stack and no path of the server, and
 * secrets in it are masked; the cause goes to the log.
 */
export class ServingError extends Error {
  declare readonly name: "ServingError";
  readonly code: ErrorCode;
  /** Facts for programs, which clients over gRPC receive; undefined where there are none. */
  readonly details: readonly ErrorDetail[] | undefined;

  static {
    // Defined, since code of users may have frozen Error.prototype, whose members cannot be assigned then.
    Object.defineProperty(ServingError.prototype, "name", { value: "ServingError" });
  }
  readonly [BRAND] = true;

  /** JavaScript callers may pass any text as code; one that is not a key of {@link STATUS} becomes `unknown`. */
  constructor(code: ErrorCode, message: string, options?: ServingErrorOptions) {
    super(typeof message === "string" ? maskSecrets(shorten(message, MAX_MESSAGE)) : message, options);
    this.code = toErrorCode(code);
    this.details = options?.details;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === "object" && value !== null && BRAND in value;
  }

  /**
   * Keeps a ServingError (one of another copy of this module whose code is none becomes `unknown`); an abort becomes
   * `cancelled`, a timeout `deadline_exceeded`, anything else `internal` with the original as cause.
   */
  static from(reason: unknown, message = UNFORESEEN): ServingError {
    if (reason instanceof ServingError) {
      const { code, message: own } = reason;
      return isErrorCode(code) ? reason : new ServingError("unknown", String(own), { cause: reason });
    }
    if (reason instanceof Error && reason.name === "AbortError") {
      const known =
        cancelled.get(reason) ?? new ServingError("cancelled", "The request was cancelled.", { cause: reason });
      cancelled.set(reason, known);
      return known;
    }
    if (reason instanceof Error && reason.name === "TimeoutError") {
      return new ServingError("deadline_exceeded", "The request's deadline passed.", { cause: reason });
    }
    return new ServingError("internal", message, { cause: reason });
  }
}

/** By the reason of the abort, which a thousand requests may have together: each of them would have a stack trace. */
const cancelled = new WeakMap<Error, ServingError>();

/** An error about what the client sent: a value, a name or an option that cannot be used. */
export function invalidArgument(message: string, cause?: unknown): ServingError {
  return new ServingError("invalid_argument", message, cause === undefined ? {} : { cause });
}

/**
 * An error about what the server was given to serve: a model, a hook file or a runtime
 * in a state that does not allow the call.
 */
export function failedPrecondition(message: string, cause?: unknown): ServingError {
  return new ServingError("failed_precondition", message, cause === undefined ? {} : { cause });
}

/** Text of {@link ServingError.from} for an unforeseen error. */
const UNFORESEEN = "Internal error; the server's log has the cause.";

/** Checks if a text promises a line of the log, wherever it has that from. */
export function pointsToLog(text: string): boolean {
  return text.includes("the server's log has the cause");
}

/**
 * Checks that an error stands for an unforeseen one: neither the client, a hook nor a driver is known to be at fault.
 */
export function isOwnFailure(reason: unknown): boolean {
  return !(reason instanceof ServingError) || (reason.code === "internal" && reason.message === UNFORESEEN);
}

/** A code as another server tells it; `unknown` for any that is none. */
export function toErrorCode(code: unknown): ErrorCode {
  return isErrorCode(code) ? code : "unknown";
}

function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(STATUS, code);
}

/** The code for a gRPC status number, `unknown` for a number that gRPC does not define. */
export function fromGrpcStatus(status: number): ErrorCode {
  const codes = Object.keys(STATUS) as ErrorCode[];
  return codes.find((code) => STATUS[code].grpc === status) ?? "unknown";
}

/**
 * The text of anything that was thrown, Error or not. Never throws, though a value may
 * do so when it is asked for its text.
 */
export function reasonText(reason: unknown): string {
  try {
    return reason instanceof Error ? String(reason.message) || String(reason.name) : textOfValue(reason);
  } catch {
    return "(a value that has no text)";
  }
}

/** An object without a text of its own is told by its message, else by its members. */
function textOfValue(value: unknown): string {
  const text = String(value);
  if (!/^\[object \w+\]$/.test(text)) return text;
  const { message } = value as { message?: unknown };
  if (typeof message === "string" && message !== "") return message;
  const members = JSON.stringify(value, (name, member) => (name === "stack" ? undefined : member));
  return members === "{}" ? text : members;
}

/** The system's or Node's code in an error, such as ENOENT; empty if it has none. */
export function systemCode(reason: unknown): string {
  return reason instanceof Error && "code" in reason ? String(reason.code) : "";
}

/**
 * Clients choose parts of many texts, and looking for patterns takes longer than
 * linear: nothing is looked for beyond this many characters.
 */
const MAX_TEXT = 4096;

/** Characters of an error's own message, above what any but a client's name of megabytes makes of it. */
const MAX_MESSAGE = 16 * 1024;

/** The beginning of {@link reasonText}, short enough for any pattern, and how much more there was. */
export function shortText(reason: unknown): string {
  return shorten(reasonText(reason), MAX_TEXT);
}

/**
 * Text of an error that a client may see: a ServingError's message, of any other its first line without paths of the
 * server.
 */
export function publicText(reason: unknown): string {
  if (reason instanceof ServingError) return reasonText(reason);
  const firstLine = shortText(reason).split("\n", 1)[0]!;
  return hidePaths(firstLine, ownPaths(reason));
}

/** The paths that an error of Node's file system says it is about. */
function ownPaths(reason: unknown): string[] {
  const { path, dest } = (reason ?? {}) as { path?: unknown; dest?: unknown };
  return [path, dest].filter((each) => typeof each === "string" && each !== "") as string[];
}
