import { type ErrorHint, listNames, unknownName } from "../error-info.ts";
import { meantText, nearest } from "../platform/text/nearest.ts";

/**
 * The end of an error about an unknown model: the nearest served name, and all served
 * names; empty if none are known.
 */
export function servedNames(wanted: string, names: Iterable<string>): string {
  const known = [...new Set(names)];
  return namesText(wanted === "" ? undefined : nearest(wanted, known), known);
}

/** The same text after a full stop, or nothing, and what it says for programs. */
export function unknownModel(
  name: string,
  names: Iterable<string>,
): { readonly text: string; readonly hint: ErrorHint } {
  const known = [...new Set(names)];
  const hint = unknownName("UNKNOWN_MODEL", name, known);
  const text = namesText(hint.didYouMean, known);
  return { text: text && `.${text}`, hint };
}

function namesText(near: string | undefined, known: readonly string[]): string {
  return known.length === 0 ? "" : `${meantText(near)} This server has ${listNames(known)}.`;
}
