import type { LoadJob, LoadResult, LoadTarget } from "../load/load-job.ts";
import { median } from "../load.ts";
import { type BenchRun, rate, takeTurns } from "./bench-run.ts";

/** Load of a race. */
export interface Press extends Pick<LoadJob, "connections" | "inFlight"> {
  /** Of one side's turn in a full run; half as long in a quick one. */
  readonly seconds: number;
}

/** Presses several servers in turn, after a warm-up, and gives each one's results by round. */
export function race<Name extends string>(
  { load, rounds, isQuick }: BenchRun,
  targets: Readonly<Record<Name, LoadTarget>>,
  { seconds, ...press }: Press,
): Promise<Readonly<Record<Name, LoadResult[]>>> {
  return takeTurns(rounds, targets, {
    warmUp: (target) => load.runClean({ ...target, ...press, seconds: Math.min(1, seconds) }),
    turn: (target) => load.runClean({ ...target, ...press, seconds: isQuick ? seconds / 2 : seconds }),
  });
}

/** The median throughput, for the table. */
export function perSecond(results: readonly LoadResult[]): string {
  const typical = median(results.map(rate));
  return `${typical.toFixed(typical < 100 ? 1 : 0)}/s`;
}

/** The median of the rounds' median latencies, for the table. */
export function typicalMs(results: readonly LoadResult[]): string {
  return `${median(results.map(({ p50Ms }) => p50Ms)).toFixed(2)} ms`;
}
