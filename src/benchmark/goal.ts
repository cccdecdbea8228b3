import { invalidArgument } from "../errors.ts";
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
