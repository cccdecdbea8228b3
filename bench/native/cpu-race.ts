import { type BenchRun, takeTurns } from "../engine/bench-run.ts";
import { type CpuTurn, cpuTurn } from "../engine/cpu-turn.ts";
import type { LoadJob, LoadTarget } from "../load/load-job.ts";
import { median } from "../load.ts";

/** A server under test, and the request that it gets. */
export interface Side {
  readonly pid: number;
  readonly target: LoadTarget;
}

/** Load of a turn: so many requests, whatever else the machine does meanwhile. */
export interface CountedPress extends Pick<LoadJob, "connections" | "inFlight"> {
  /** Of a full run, and of the warm-up; a quarter in a quick one. */
  readonly requests: number;
}

/** Presses several servers in turn, after a warm-up, and gives each one's processor time by round. */
export function cpuRace<Name extends string>(
  { load, rounds, isQuick }: BenchRun,
  sides: Readonly<Record<Name, Side>>,
  { requests, ...press }: CountedPress,
): Promise<Readonly<Record<Name, CpuTurn[]>>> {
  return takeTurns(rounds, sides, {
    warmUp: ({ target }) => load.runClean({ ...target, ...press, requests }),
    turn: ({ pid, target }) => cpuTurn(load, pid, { ...target, ...press, requests: isQuick ? requests / 4 : requests }),
  });
}

/** The median processor time of a request, for the table. */
export function typicalUs(turns: readonly CpuTurn[]): string {
  return `${median(turns.map(({ cpuUs }) => cpuUs)).toFixed(0)} µs`;
}
