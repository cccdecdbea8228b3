import type { StageSummary } from "../../server/stage-summary.ts";
import { flowText } from "./flow-text.ts";
import { toWrappedTable } from "./wrapped-table.ts";

const HEADINGS = ["#", "Driver", "Model", "Inputs → outputs", "Loaded in"] as const;
const WRAPPED = 3;

/**
 * The stages as a table for a terminal of so many columns; too long lists of inputs and outputs go on in further lines.
 */
export function toStartTable(stages: readonly StageSummary[], columns: number): string {
  return toWrappedTable([HEADINGS, ...stages.map(toCells)], WRAPPED, columns);
}

function toCells({ index, driver, path, loadMs, ...flow }: StageSummary): readonly string[] {
  return [String(index), driver, path === "" ? "-" : path, flowText(flow), `${Math.round(loadMs)} ms`];
}
