import { characterEnd } from "./token-model.ts";

/** Finds the range of the text that a range of its normalised form has come from. */
type FindRange = (start: number, end: number) => [number, number];

/** A base character with its marks; the parts of a Korean syllable are composed too. */
const CLUSTER = /\P{M}[\p{M}\u1160-\u11ff]*|\p{M}+/gu;
/** Characters ahead that are searched if a normalizer looks beyond one. */
const AHEAD = 64;

/** A unit of a normalised text, and the range that it has come from. */
interface Origin {
  readonly unit: string;
  readonly start: number;
  readonly end: number;
}

/**
 * Says for the characters of a normalised text where they have come from. Exact for normalizers that change each
 * character with its marks by itself; where one looks further, as one that joins spaces does, by the characters that
 * both have in common.
 */
export function alignTexts(text: string, normalized: string, normalize: (text: string) => string): FindRange {
  const origins = Array.from(text.matchAll(CLUSTER)).flatMap(({ 0: from, index }) => originsOf(from, index, normalize));
  const led = normalized.length - origins.length;
  const isExact = led >= 0 && led < 8 && normalized.endsWith(origins.map(({ unit }) => unit).join(""));
  const first = { unit: "", start: 0, end: characterEnd(text, 0) };
  const found = isExact ? [...new Array<Origin>(led).fill(first), ...origins] : alignByCommon(normalized, origins);
  return (start, end) => {
    const from = found[start]?.start ?? text.length;
    if (end <= start) return [from, from];
    return [from, Math.max(from, found[end - 1]?.end ?? text.length)];
  };
}

/** By the characters, if each is changed by itself; else all of it is the origin of all of what it becomes. */
function originsOf(from: string, index: number, normalize: (text: string) => string): Origin[] {
  const to = normalize(from);
  const parts = Array.from(from, (character) => ({ length: character.length, to: normalize(character) }));
  const isExact = parts.map((part) => part.to).join("") === to;
  let start = index;
  return (isExact ? parts : [{ length: from.length, to }]).flatMap((part) => {
    const range = { start, end: start + part.length };
    start = range.end;
    return Array.from({ length: part.to.length }, (_, at) => ({ ...range, unit: part.to[at] ?? "" }));
  });
}

function alignByCommon(normalized: string, origins: readonly Origin[]): Origin[] {
  let at = 0;
  return Array.from({ length: normalized.length }, (_, index) => {
    const near = origins.slice(at, at + AHEAD).findIndex(({ unit }) => unit === normalized[index]);
    const origin = origins[near === -1 ? at : at + near] ?? origins.at(-1);
    if (near !== -1) at += near + 1;
    return origin ?? { unit: "", start: 0, end: 0 };
  });
}
