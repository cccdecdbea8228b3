import { medianInterval } from "../statistics.ts";

/** The aim of a figure. */
type Target = { readonly atLeast: number } | { readonly atMost: number };

/** One row of the table: what was measured in each round, and what it should be. */
export interface Figure {
  readonly name: string;
  /** One value a round, in `unit`. */
  readonly values: readonly number[];
  readonly unit: "×" | "ms" | "µs" | "%" | "MB" | "KB" | "";
  readonly ours: string;
  /** The server that it is compared with; empty where the target is a plain number. */
  readonly ceiling?: string;
  /** Absent = for information. */
  readonly target?: Target;
}

/** Cells of a figure's row, in the order of {@link FIGURE_HEAD}. A target is met when the interval reaches it. */
export function figureCells({ name, values, unit, ours, ceiling = "", target }: Figure): string[] {
  const { low, middle, high } = medianInterval(values);
  const show = (value: number) => value.toFixed(Math.abs(value) >= 100 ? 0 : 2);
  const interval = values.length > 1 ? `${show(low)} … ${show(high)}` : "";
  return [name, ours, ceiling, `${show(middle)} ${unit}`, interval, ...verdict({ low, high }, unit, target)];
}

export const FIGURE_HEAD = ["case", "ours", "beside", "figure", "95 % interval", "target", "met"];

function verdict({ low, high }: { low: number; high: number }, unit: string, target: Target | undefined): string[] {
  if (target === undefined) return ["", ""];
  const isMet = "atLeast" in target ? high >= target.atLeast : low <= target.atMost;
  const bound = "atLeast" in target ? `≥ ${target.atLeast}` : `≤ ${target.atMost}`;
  return [`${bound} ${unit}`, isMet ? "yes" : "NO"];
}
