/** No name that people type is longer; comparing takes a time that grows with the product of the lengths. */
const MAX_LENGTH = 100;
/** Pairs of characters that are compared at most, a few milliseconds: a server may know thousands of names. */
const MAX_PAIRS = 200_000;

/**
 * The known name nearest to a misspelt one, or undefined when none is near enough to
 * suggest, or the name is over 100 characters long.
 */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  if (name.length > MAX_LENGTH) return undefined;
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(name.length / 3)) + 1;
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

/** ` Did you mean "x"?`, or nothing when no known name is near. */
export function didYouMean(name: string, known: Iterable<string>): string {
  return meantText(nearest(name, known));
}

/** The text of {@link didYouMean} about the name that {@link nearest} has found. */
export function meantText(suggestion: string | undefined): string {
  return suggestion === undefined ? "" : ` Did you mean "${suggestion}"?`;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substitution, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
