import { type Flow, flowText } from "./flow-text.ts";
import { toWrappedTable } from "./wrapped-table.ts";

/** One version of a named model, for the people who started the server. */
export interface ModelSummary extends Flow {
  readonly name: string;
  readonly version: string;
  /** Drivers of its stages; empty where it is not loaded. */
  readonly drivers: readonly string[];
  /** In TensorFlow Serving's words. */
  readonly state: string;
  /** The reason why it does not answer; empty where it does. */
  readonly problem: string;
}

const HEADINGS = ["Model", "Version", "Driver", "Inputs → outputs", "State"] as const;
const WRAPPED = 3;

/** The models as a table for a terminal of so many columns, and below it the reasons of those that do not answer. */
export function toModelTable(models: readonly ModelSummary[], columns: number): string {
  const table = toWrappedTable([HEADINGS, ...models.map(toCells)], WRAPPED, columns);
  const problems = models.flatMap(({ name, version, problem }) =>
    problem === "" ? [] : [`  ${name} version ${version}: ${problem}`],
  );
  return [table, ...(problems.length === 0 ? [] : ["", ...problems])].join("\n");
}

function toCells({ name, version, drivers, state, problem, ...flow }: ModelSummary): readonly string[] {
  return [name, version, drivers.join(" → ") || "-", problem === "" ? flowText(flow) : "-", state];
}
