import { invalidArgument, publicText, ServingError } from "../../errors.ts";
import { MAX_PLACES } from "./json-lines.ts";

const PARSE_ERROR = /^JSON Parse error: (.*) at offset: (\d+)$/s;

/**
 * An error in the JSON of joined lines, with the line; other errors stay. The lines are at `places`, as
 * {@link JsonLines} has them.
 */
export function errorOfLine(reason: unknown, places: Uint32Array): unknown {
  if (!(reason instanceof ServingError) || reason.code !== "invalid_argument") return reason;
  const [, what = "", digits = ""] = PARSE_ERROR.exec(publicText(reason)) ?? [];
  const offset = Number(digits);
  const index = places.findLastIndex((place) => place <= offset);
  if (digits === "" || index < 0 || index === MAX_PLACES) return reason;
  return invalidArgument(
    `Line ${index + 1} of the body is not JSON: ${what} at offset: ${offset - places[index]!}`,
    reason,
  );
}
