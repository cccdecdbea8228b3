import { failedPrecondition, reasonText } from "../../errors.ts";

/** No control character, and no colon, which ends the name (RFC 7617 §2). */
const NAME = /^[^\p{Cc}:]{1,200}$/u;

/**
 * Reads lines of `NAME:VALUE`; empty ones and those that begin with # say nothing. Throws `failed_precondition` with
 * the number of a line that cannot be read, never with what it holds.
 */
export function readNameLines<Value>(text: string, file: string, read: (value: string) => Value): Map<string, Value> {
  const values = new Map<string, Value>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(?:#|$)/.test(line)) continue;
    const refuse = (problem: string) => failedPrecondition(`${file}:${index + 1}: ${problem}.`);
    const [name, value] = split(line);
    if (!NAME.test(name)) throw refuse("expected NAME:HASH, as kserving hash-password and hash-token write it");
    if (values.has(name)) throw refuse(`the name ${name} stands here for the second time`);
    try {
      values.set(name, read(value));
    } catch (reason) {
      throw refuse(reasonText(reason));
    }
  }
  return values;
}

function split(line: string): readonly [name: string, value: string] {
  const at = line.indexOf(":");
  return at < 0 ? ["", ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
}
