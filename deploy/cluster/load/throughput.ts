import type { LoadResult } from "./load.ts";

/** Seconds over which a rate is taken, so that single answers do not make it jump. */
const WINDOW = 3;

/** Growth of a throughput. */
export interface Growth {
  /** Answers per second in the first seconds. */
  readonly before: number;
  /** Answers per second in the last seconds. */
  readonly after: number;
  /** Seconds until twice the first rate was reached; undefined where it was not. */
  readonly secondsToTwice: number | undefined;
}

/** Reads from the answers of each second how a throughput grew. */
export function growthOf({ perSecond }: Pick<LoadResult, "perSecond">): Growth {
  const answers = Array.from(perSecond, (count) => count ?? 0);
  const rateAt = (end: number) => answers.slice(end - WINDOW, end).reduce((sum, count) => sum + count, 0) / WINDOW;
  // The first second has the clients' start, the last one is not over.
  const before = rateAt(WINDOW + 1);
  const ends = Array.from({ length: Math.max(0, answers.length - WINDOW - 1) }, (_, index) => index + WINDOW + 1);
  return {
    before,
    after: rateAt(answers.length - 1),
    secondsToTwice: ends.find((end) => rateAt(end) >= 2 * before),
  };
}
