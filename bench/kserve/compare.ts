import type { Figure } from "../engine/figure.ts";
import { median } from "../load.ts";

/** Two ways to do the same. */
export interface Comparison {
  readonly name: string;
  readonly ours: () => unknown;
  readonly beside: () => unknown;
  /** Name of the other way. */
  readonly ceiling: string;
  /** `cost` = our time over theirs, `speed` = theirs over ours. */
  readonly figure: "cost" | "speed";
  readonly target: NonNullable<Figure["target"]>;
}

/** Length of a measurement. */
interface Patience {
  readonly rounds: number;
  readonly secondsOfRound: number;
}

interface Round {
  /** Median times of one call, in milliseconds. */
  readonly oursMs: number;
  readonly besideMs: number;
}

/**
 * Measures both ways in this process, call by call in turn, so that what else the
 * machine does hits both; the first round warms up.
 */
export async function compare(comparison: Comparison, patience: Patience): Promise<Figure> {
  const { name, ceiling, figure, target } = comparison;
  const rounds: Round[] = [];
  for (let round = 0; round <= patience.rounds; round++) rounds.push(await runRound(comparison, patience));
  rounds.shift();
  return {
    name,
    ours: `${median(rounds.map(({ oursMs }) => oursMs)).toFixed(3)} ms`,
    ceiling: `${median(rounds.map(({ besideMs }) => besideMs)).toFixed(3)} ms ${ceiling}`,
    values: rounds.map(({ oursMs, besideMs }) => (figure === "cost" ? oursMs / besideMs : besideMs / oursMs)),
    unit: "×",
    target,
  };
}

async function runRound({ ours, beside }: Comparison, { secondsOfRound }: Patience): Promise<Round> {
  const [oursMs, besideMs]: [number[], number[]] = [[], []];
  const end = performance.now() + secondsOfRound * 1000;
  while (performance.now() < end) {
    oursMs.push(await spentMs(ours));
    besideMs.push(await spentMs(beside));
  }
  return { oursMs: median(oursMs), besideMs: median(besideMs) };
}

async function spentMs(task: () => unknown): Promise<number> {
  const started = performance.now();
  const result = task();
  if (result instanceof Promise) await result;
  return performance.now() - started;
}
