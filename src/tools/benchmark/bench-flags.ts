import { invalidArgument } from "../../errors.ts";
import type { Latencies, LevelResult } from "./measure/level.ts";

/** A bound of a latency. */
export interface Goal {
  /** As it was given: `p99=20ms`. */
  readonly text: string;
  readonly figure: keyof Latencies;
  readonly maxMs: number;
}

const FIGURES: readonly (keyof Latencies)[] = ["mean", "p50", "p90", "p95", "p99", "max"];
const GOAL = /^(\w+)=(\d*\.?\d+)(us|ms|s)$/;
const MS = { us: 0.001, ms: 1, s: 1000 } as const;

/** Reads `p99=20ms`; throws `invalid_argument` for anything else. */
export function parseGoal(text: string): Goal {
  const [, name, number, unit] = GOAL.exec(text) ?? [];
  const figure = FIGURES.find((known) => known === name);
  if (figure !== undefined && Number(number) > 0)
    return { text, figure, maxMs: Number(number) * MS[unit as keyof typeof MS] };
  throw invalidArgument(
    `--goal is "${text}"; expected a latency with its bound, such as p99=20ms (one of ${FIGURES.join(", ")}; us, ms or s).`,
  );
}

/** Checks if a level meets a goal; one without an answered request meets none. */
export function meets({ latencyMs }: Pick<LevelResult, "latencyMs">, { figure, maxMs }: Goal): boolean {
  return latencyMs !== undefined && latencyMs[figure] <= maxMs;
}

/** Steps of a sweep at most: each takes seconds. */
const MAX_STEPS = 100;
const RANGE = /^(\d*\.?\d+):(\d*\.?\d+)(?::(\d*\.?\d+))?$/;

/**
 * Reads the steps of a sweep: `8`, a list `1,4,16`, a range that doubles `1:32`, or one with a step `10:50:10`.
 * Ascending; throws `invalid_argument` for anything else.
 */
export function parseLevels(flag: string, text: string): readonly number[] {
  const [, from, to, step] = RANGE.exec(text) ?? [];
  const levels = from === undefined ? text.split(",").map(toNumber) : range(Number(from), Number(to), step);
  const isGood = levels.every((level, index) => level > 0 && level > (levels[index - 1] ?? 0));
  if (isGood && levels.length > 0 && levels.length <= MAX_STEPS) return levels;
  const expected = "a number, ascending ones such as 1,4,16, a range that doubles, 1:32, or one with a step, 10:50:10";
  throw invalidArgument(`${flag} is "${text}"; expected ${expected}, of ${MAX_STEPS} steps at most.`);
}

/** {@link parseLevels} for whole numbers. */
export function parseCounts(flag: string, text: string): readonly number[] {
  const counts = parseLevels(flag, text);
  if (counts.every(Number.isSafeInteger)) return counts;
  throw invalidArgument(`${flag} is "${text}"; expected whole numbers.`);
}

function toNumber(text: string): number {
  return /^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN;
}

/** The end is always a step. */
function range(from: number, to: number, step: string | undefined): number[] {
  const levels: number[] = [];
  if (from <= 0 || from > to || Number(step) === 0) return levels;
  const next = (level: number) => (step === undefined ? level * 2 : level + Number(step));
  for (let level = from; level < to && levels.length <= MAX_STEPS; level = next(level)) levels.push(level);
  return [...levels, to];
}
