import { toColumns } from "../text/columns.ts";
import type { FoundRuntime, RuntimeReport } from "./runtime-report.ts";

const HEADINGS = ["", "Runtime", "Version", "Devices", "Found in"] as const;
const GAP = "  ";

/**
 * The runtimes as a table: a row for every place, a star before what would be used,
 * and below it what to do about the rest.
 */
export function toRuntimesTable(reports: readonly RuntimeReport[]): string {
  const rows = [HEADINGS, ...reports.flatMap(toRows)];
  const lines = toColumns(rows);
  const advice = reports.flatMap(({ title, install }) => (install === undefined ? [] : [`${title}: ${install}`]));
  return [...lines, ...(advice.length === 0 ? [] : ["", "What is missing:", ...advice.map((text) => GAP + text)])].join(
    "\n",
  );
}

function toRows({ name, found }: RuntimeReport): (readonly string[])[] {
  if (found.length === 0) return [["", name, "-", "-", "nowhere"]];
  return found.map((each) => [
    each.isUsed ? "*" : "",
    name,
    each.version ?? "-",
    each.devices?.join(", ") || "-",
    toPlace(each),
  ]);
}

function toPlace({ source, path, problem }: FoundRuntime): string {
  return `${source}${path === undefined ? "" : `: ${path}`}${problem === undefined ? "" : ` (${problem})`}`;
}
