import { invalidArgument } from "../../errors.ts";

/** An error for a body in another encoding. */
export function notUtf8(cause?: unknown): Error {
  return invalidArgument("The body is not UTF-8; convert it, for example with iconv.", cause);
}
