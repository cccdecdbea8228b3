import type { NeighbourReport, NeighbourReports, WayName } from "./neighbour-report.ts";
import type { RowResult } from "./run-row.ts";

/** Figures of a row by which it is compared with an earlier run. */
export interface Figures {
  readonly wait: number;
  readonly peak: number;
  /** The longer wait of both wires. */
  readonly waits: Readonly<Record<string, number>>;
  readonly problems: readonly string[];
}

const LARGER: readonly WayName[] = ["1 KB", "64 KB", "1 MB", "login"];

/** The figures of a row to keep. */
export function figuresOf({ others, peakMb, problems }: RowResult): Figures {
  const longest = (way: WayName) => Math.round(Math.max(0, ...reportsOf(others, way).map((one) => one.longestOwnMs)));
  const waits = Object.fromEntries(LARGER.map((way) => [way, longest(way)]));
  return { wait: longest("tiny"), peak: Math.round(peakMb), waits, problems };
}

/** The cells of a row behind its name. */
export function toCells(result: RowResult, before: Figures | undefined): string[] {
  const { configuration, baseline, others, peakMb, seconds, got, problems } = result;
  const most = (reports: NeighbourReports, key: "longestOwnMs" | "longestBusyMs" | "longestMs") =>
    Math.max(...reportsOf(reports, "tiny").map((report) => report[key])).toFixed(0);
  const was = (figure: number | undefined) => (figure === undefined ? "" : ` (was ${figure})`);
  return [
    configuration.name,
    most(others, "longestOwnMs") + was(before?.wait),
    most(others, "longestBusyMs"),
    most(others, "longestMs"),
    most(baseline, "longestOwnMs"),
    ...LARGER.map((way) => waitsOf(others, way) + was(before?.waits[way])),
    peakMb.toFixed(0) + was(before?.peak),
    `${refusedOf(others, ["tiny"])}/${refusedOf(others, LARGER)}`,
    seconds.toFixed(1),
    got,
    problems.length === 0 ? "ok" : `FAIL ${problems.join("; ")}`,
  ];
}

function reportsOf(reports: NeighbourReports, way: WayName): NeighbourReport[] {
  return [reports[`${way} http`], reports[`${way} grpc`]].filter((report) => report !== undefined);
}

/** `HTTP/gRPC`, or a hyphen where nothing was asked. */
function waitsOf(reports: NeighbourReports, way: WayName): string {
  return (
    reportsOf(reports, way)
      .map(({ longestOwnMs }) => longestOwnMs.toFixed(0))
      .join("/") || "-"
  );
}

function refusedOf(reports: NeighbourReports, ways: readonly WayName[]): number {
  return ways.flatMap((way) => reportsOf(reports, way)).reduce((sum, { refused }) => sum + refused, 0);
}
