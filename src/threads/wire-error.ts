import { type ErrorCode, reasonText, ServingError } from "../errors.ts";

/** An error between threads, where it would lose its class and code. */
export interface WireError {
  readonly code: ErrorCode;
  readonly message: string;
  /** The cause, for the log. */
  readonly cause?: { readonly message: string; readonly stack?: string };
}

/** The error as plain data. */
export function toWireError(reason: unknown): WireError {
  const { code, message, cause } = ServingError.from(reason);
  if (cause === undefined) return { code, message };
  if (!(cause instanceof Error)) return { code, message, cause: { message: reasonText(cause) } };
  return { code, message, cause: { message: cause.message, ...(cause.stack !== undefined && { stack: cause.stack }) } };
}

/** The error that the data stands for. */
export function fromWireError({ code, message, cause }: WireError): ServingError {
  if (cause === undefined) return new ServingError(code, message);
  // Its own stack would tell of this thread, not of where it was thrown.
  const original = Object.assign(new Error(cause.message), { stack: cause.stack ?? cause.message });
  return new ServingError(code, message, { cause: original });
}
