import type { FoundRuntime, RuntimeReport } from "./list-runtimes.ts";

const HEADINGS = ["", "Runtime", "Version", "Devices", "Found in"] as const;
const GAP = "  ";

/** The runtimes as a table: a row for every place, a star before what would be used, and below it what to do about the rest. */
export function toRuntimesTable(reports: readonly RuntimeReport[]): string {
  const rows = [HEADINGS, ...reports.flatMap(toRows)];
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join(GAP)
      .trimEnd(),
  );
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
