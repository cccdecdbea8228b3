import { type ErrorCode, type ErrorDetail, isErrorDetails, reasonText, ServingError } from "../../errors.ts";
import { MAX_LOG_TEXT, shorten, shortenMiddle } from "../text/shorten.ts";
import { MalformedMessage } from "./host-port.ts";

/** An error as sent between threads; as an object it would lose its class and code. */
export interface WireError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details?: readonly ErrorDetail[];
  /** The cause, for the log. */
  readonly cause?: { readonly message: string; readonly stack?: string };
}

/** Any thrown value as plain data: texts only, which every connection can transfer, cut to what a log has of them. */
export function toWireError(reason: unknown): WireError {
  const error = ServingError.from(reason);
  const { code, cause, details } = error;
  const wire = {
    code,
    message: reasonText(error),
    ...(isErrorDetails(details) && { details: details.map(toPlainDetail) }),
  };
  if (cause === undefined) return cutError(wire);
  const stack = stacksOf(cause);
  return cutError({ ...wire, cause: { message: reasonText(cause), ...(stack !== undefined && { stack }) } });
}

/** Characters of all details of an error together: they go to clients in a header. */
const MAX_DETAILS = 4 * 1024;

/** Cut where it is made, and again where it arrives: users' code may have sent it by itself. */
function cutError({ code, message, cause, details }: WireError): WireError {
  const kept = details === undefined || sizeOf(details) > MAX_DETAILS ? undefined : details;
  const text = shorten(message, MAX_LOG_TEXT);
  return { code, message: text, ...(kept && { details: kept }), ...(cause && { cause: cutCause(cause) }) };
}

function sizeOf(details: readonly ErrorDetail[]): number {
  return details.reduce((sum, { type, value }) => sum + type.length + value.length, 0);
}

function cutCause({ message, stack }: NonNullable<WireError["cause"]>): NonNullable<WireError["cause"]> {
  const text = shorten(message, MAX_LOG_TEXT);
  return stack === undefined ? { message: text } : { message: text, stack: shortenMiddle(stack, MAX_LOG_TEXT) };
}

/** Depth to which the causes of a cause are told; an error may be its own cause. */
const MAX_CAUSES = 5;

/** The stacks of an error and of its causes, outermost first; undefined if it has none. */
function stacksOf(reason: unknown): string | undefined {
  const stacks: string[] = [];
  for (let one = reason; stacks.length < MAX_CAUSES; one = causeOf(one)) {
    const stack = stackOf(one);
    if (stack === undefined) break;
    stacks.push(shortenMiddle(stack, MAX_LOG_TEXT / 2));
  }
  return stacks.length === 0 ? undefined : stacks.join("\ncaused by: ");
}

function causeOf(error: unknown): unknown {
  try {
    return (error as Error).cause;
  } catch {
    return undefined;
  }
}

/** Stacks are computed when they are read, which throws for a message that is not a string. */
function stackOf(cause: unknown): string | undefined {
  try {
    return cause instanceof Error && typeof cause.stack === "string" ? cause.stack : undefined;
  } catch {
    return undefined;
  }
}

/** Checks that a value is an error as plain data; user code may have posted it. */
export function isWireError(value: unknown): value is WireError {
  const { code, message, cause, details } = (value ?? {}) as { [Key in keyof WireError]?: unknown };
  if (typeof code !== "string" || typeof message !== "string") return false;
  return (cause === undefined || isTextRecord(cause)) && (details === undefined || isErrorDetails(details));
}

function toPlainDetail({ type, value }: ErrorDetail): ErrorDetail {
  return { type, value };
}

/** Checks an error from another thread; throws {@link MalformedMessage}. */
export function parseWireError(value: unknown): WireError {
  if (isWireError(value)) return value;
  throw new MalformedMessage("it has an error without code and message");
}

/** The error for its plain data. */
export function fromWireError(error: WireError): ServingError {
  const { code, message, cause, details } = cutError(error);
  if (cause === undefined) return new ServingError(code, message, { details });
  // Its own stack would show this thread, not where it was thrown.
  const original = Object.assign(new Error(cause.message), { stack: cause.stack ?? cause.message });
  return new ServingError(code, message, { cause: original, details });
}

/** Checks that a value is an object whose members are all strings. */
export function isTextRecord(value: unknown): value is Readonly<Record<string, string>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((member) => typeof member === "string");
}
