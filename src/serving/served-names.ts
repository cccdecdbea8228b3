import { didYouMean } from "../platform/text/nearest.ts";

/** Maximum number of names in a message. */
const MAX_NAMES = 10;

/**
 * The end of an error about an unknown model: the nearest served name, and all served
 * names; empty if none are known.
 */
export function servedNames(wanted: string, names: Iterable<string>): string {
  const known = [...new Set(names)];
  if (known.length === 0) return "";
  const more = known.length > MAX_NAMES ? ` and ${known.length - MAX_NAMES} more` : "";
  const hint = wanted === "" ? "" : didYouMean(wanted, known);
  return `${hint} This server has ${known.slice(0, MAX_NAMES).join(", ")}${more}.`;
}
