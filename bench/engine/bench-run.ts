import type { LoadGenerator } from "../load/load-generator.ts";
import type { LoadResult } from "../load/load-job.ts";
import type { Figure } from "./figure.ts";

/** One run of the benchmark: what its groups of cases share. */
export interface BenchRun {
  readonly rounds: number;
  readonly isQuick: boolean;
  readonly load: LoadGenerator;
  /** Says what is being done. */
  say(what: string): void;
}

/** Some rows of the table, measured with servers of their own. */
export interface Group {
  readonly name: string;
  run(bench: BenchRun): Promise<readonly Figure[]>;
}

/**
 * Runs every variant once a round, in turn; every other round backwards, so that a drift of the machine favours none.
 */
export async function alternate<Name extends string, Result>(
  rounds: number,
  variants: Readonly<Record<Name, () => Promise<Result>>>,
): Promise<Readonly<Record<Name, Result[]>>> {
  const names = Object.keys(variants) as Name[];
  const results = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, Result[]>;
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? names : [...names].reverse();
    for (const name of order) results[name].push(await variants[name]());
  }
  return results;
}

/** Treatment of a side in a comparison. */
interface SideTurns<Side, Result> {
  warmUp(side: Side): Promise<unknown>;
  turn(side: Side): Promise<Result>;
}

/** Warms up each side, then gives each a turn in every round; returns the results by side. */
export async function takeTurns<Name extends string, Side, Result>(
  rounds: number,
  sides: Readonly<Record<Name, Side>>,
  { warmUp, turn }: SideTurns<Side, Result>,
): Promise<Readonly<Record<Name, Result[]>>> {
  const entries = Object.entries<Side>(sides);
  for (const [, side] of entries) await warmUp(side);
  const variants = Object.fromEntries(entries.map(([name, side]) => [name, () => turn(side)]));
  return alternate(rounds, variants as Record<Name, () => Promise<Result>>);
}

/** Pairs the two sides' results of each round. */
export function paired<Result>(
  ours: readonly Result[],
  theirs: readonly Result[],
  combine: (ours: Result, theirs: Result) => number,
): number[] {
  return ours.map((result, round) => combine(result, theirs[round] as Result));
}

/** Ours over theirs, in requests per second. */
export function throughputRatios(ours: readonly LoadResult[], theirs: readonly LoadResult[]): number[] {
  return paired(ours, theirs, (a, b) => rate(a) / rate(b));
}

/** Requests per second. */
export function rate({ requests, seconds }: LoadResult): number {
  return requests / seconds;
}
