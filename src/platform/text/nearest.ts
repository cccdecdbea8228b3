/** No name that people type is longer; comparing takes a time that grows with the product of the lengths. */
const MAX_LENGTH = 100;
/** Pairs of characters that are compared at most, half a millisecond: any request may have a wrong name. */
const MAX_PAIRS = 50_000;

/**
 * The known name nearest to a misspelt one, or undefined when none is near enough to
 * suggest, or the name is over 100 characters long. `most` is the distance from it at most.
 */
export function nearest(
  name: string,
  known: Iterable<string>,
  most = Math.max(2, Math.floor(name.length / 3)),
): string | undefined {
  if (name.length > MAX_LENGTH) return undefined;
  let best: string | undefined;
  let bestDistance = most + 1;
  let pairs = 0;
  for (const candidate of known) {
    // Names of other lengths are at least so far away.
    if (candidate.length > MAX_LENGTH || Math.abs(candidate.length - name.length) >= bestDistance) continue;
    pairs += candidate.length * name.length;
    if (pairs > MAX_PAIRS) break;
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** Characters of a name below which two other letters make another name. */
const SHORT = 6;

/**
 * The known name that a name is so near to that it is no other name: as {@link nearest}, but of a short one with a
 * letter more or less, or another one, or with two neighbours in the other order.
 */
export function misspelt(name: string, known: readonly string[]): string | undefined {
  if (name.length >= SHORT) return nearest(name, known);
  const letters = name.toLowerCase();
  const swapped = Array.from(letters.slice(1), (_, at) => swap(letters, at));
  const isSwapped = (each: string) => each.length === name.length && swapped.includes(each.toLowerCase());
  return known.find(isSwapped) ?? nearest(name, known, Math.min(1, name.length - 1));
}

function swap(text: string, at: number): string {
  return `${text.slice(0, at)}${text[at + 1] ?? ""}${text[at] ?? ""}${text.slice(at + 2)}`;
}

/** ` Did you mean "x"?`, or nothing when no known name is near. */
export function didYouMean(name: string, known: Iterable<string>): string {
  return meantText(nearest(name, known));
}

/** The text of {@link didYouMean} about the name that {@link nearest} has found. */
export function meantText(suggestion: string | undefined): string {
  return suggestion === undefined ? "" : ` Did you mean "${suggestion}"?`;
}

/** Small letters may be several for a capital one. */
const MAX_LETTERS = 3 * MAX_LENGTH;
/** Of {@link editDistance}, so that a comparison makes no lists. */
let [row, next] = [new Uint16Array(MAX_LETTERS + 1), new Uint16Array(MAX_LETTERS + 1)];

/** Insertions, deletions and replacements between two texts of {@link MAX_LETTERS} at most. */
function editDistance(a: string, b: string): number {
  for (let j = 0; j <= b.length; j++) row[j] = j;
  for (let i = 1; i <= a.length; i++) {
    const code = a.charCodeAt(i - 1);
    next[0] = i;
    for (let j = 1; j <= b.length; j++) {
      const substitution = row[j - 1]! + (code === b.charCodeAt(j - 1) ? 0 : 1);
      next[j] = Math.min(substitution, row[j]! + 1, next[j - 1]! + 1);
    }
    [row, next] = [next, row];
  }
  return row[b.length]!;
}
