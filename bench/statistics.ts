import { quantile } from "../test/helpers/quantile.ts";

/** A median, and between what the true one lies. */
export interface Interval {
  readonly low: number;
  readonly middle: number;
  readonly high: number;
}

/** Probability that the interval holds the true median. */
const CONFIDENCE = 0.95;

/**
 * The median with the interval between two values of the list itself: the narrowest pair, counted from both ends, that
 * holds the true median with 95 % whatever the distribution is (the sign test's interval). Five values do not suffice
 * for 95 %: theirs is the whole range, which holds it with 93.75 %.
 */
export function medianInterval(values: readonly number[]): Interval {
  const sorted = [...values].sort((a, b) => a - b);
  const cut = cutFromEachEnd(sorted.length);
  return {
    low: sorted[cut] as number,
    middle: (quantile(sorted, 0.5) + (sorted[Math.ceil(sorted.length / 2) - 1] as number)) / 2,
    high: sorted[sorted.length - 1 - cut] as number,
  };
}

/**
 * One less than the fewest heads of `count` tosses that come (those or fewer) with
 * more than 2.5 %: so many values may be left out at each end.
 */
function cutFromEachEnd(count: number): number {
  let probability = 0.5 ** count;
  let below = 0;
  for (let heads = 0; heads < count; heads++) {
    below += probability;
    if (below > (1 - CONFIDENCE) / 2) return Math.max(0, heads - 1);
    probability *= (count - heads) / (heads + 1);
  }
  return 0;
}
