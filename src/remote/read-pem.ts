import { readFileSync } from "node:fs";
import { failedPrecondition, reasonText } from "../errors.ts";

/**
 * Reads a file in PEM form, null where there is none; throws `failed_precondition`,
 * with the flag, for a file of another form.
 */
export function readPem(path: string | undefined, flag: string): Buffer | null {
  if (path === undefined) return null;
  try {
    const text = readFileSync(path);
    if (text.includes("-----BEGIN ")) return text;
  } catch (cause) {
    throw failedPrecondition(`The file of ${flag} cannot be read from ${path}: ${reasonText(cause)}.`, cause);
  }
  throw failedPrecondition(`${path}, the file of ${flag}, is not in PEM form, which begins with -----BEGIN.`);
}
