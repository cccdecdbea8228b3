import { toColumns } from "../../platform/text/terminal.ts";
import { failureCount, isClientBound, isSilent, type LevelResult } from "./measure/level.ts";

const HEAD = ["Requests/s", "p50 ms", "p90 ms", "p99 ms", "Max ms", "Requests", "Failed", "Client", ""];

/** Share of an open load below which the server does not keep up with it. */
const KEPT = 0.95;

/** The results of a sweep as lines, with what is to be known about them below. */
export function toBenchTable(results: readonly LevelResult[]): string[] {
  const notes = benchNotes(results);
  return [...toColumns(benchRows(results)), ...(notes.length > 0 ? ["", ...notes] : [])];
}

/** The figures of each level as cells, the first row with their names. */
export function benchRows(results: readonly LevelResult[]): readonly (readonly string[])[] {
  const isOpen = results.some(({ rate }) => rate !== undefined);
  return [
    [isOpen ? "Rate" : "Concurrency", ...HEAD],
    ...results.map((result) => [levelText(result), ...toCells(result)]),
  ];
}

/** A level for people. */
export function levelText({ rate, concurrency }: Pick<LevelResult, "rate" | "concurrency">): string {
  return rate === undefined ? String(concurrency) : `${rate}/s`;
}

function toCells(result: LevelResult): string[] {
  const { requestsPerSecond, latencyMs, requests, isStable, clientShare } = result;
  const { p50, p90, p99, max } = latencyMs ?? {};
  return [
    rateText(requestsPerSecond),
    ...[p50, p90, p99, max].map(msText),
    ...[String(requests), String(failureCount(result)), shareText(clientShare)],
    isStable ? "" : "unstable",
  ];
}

/** Sentences about what is to be known about figures: unstable ones, those of the client, failures. */
export function benchNotes(results: readonly LevelResult[]): readonly string[] {
  const bound = results.filter(isClientBound);
  const late = results.filter(({ rate = 0, requestsPerSecond }) => requestsPerSecond < KEPT * rate);
  const silent = results.filter(isSilent);
  const failures = new Map<string, number>();
  for (const result of results)
    for (const [problem, count] of Object.entries(result.failures))
      failures.set(problem, (failures.get(problem) ?? 0) + count);
  return [
    ...(silent.length > 0
      ? [
          `No request was answered in the last window at ${silent.map(levelText).join(", ")}; see whether the server still runs, or measure longer (--window) if a request takes so long.`,
        ]
      : []),
    ...(results.some((result) => !result.isStable && !isSilent(result))
      ? ["unstable: the last three windows differ by more than 10 %; measure longer (--window, --max-windows)."]
      : []),
    ...(bound.length > 0
      ? [
          `The client was the bottleneck at ${bound.map(levelText).join(", ")}: the server can do more; give the load more threads (--client-threads), or another machine.`,
        ]
      : []),
    ...(late.length > 0
      ? [
          `The server did not keep up with ${late.map(levelText).join(", ")}; latencies grow with the length of the measurement.`,
        ]
      : []),
    ...Array.from(failures, ([problem, count]) => `Failed ${count} times: ${problem}`),
  ];
}

/** A number of milliseconds with three digits: `0.482`, `12.3`, `1500`. */
export function msText(ms: number | undefined): string {
  return ms === undefined || Number.isNaN(ms) ? "-" : digits(ms);
}

/** A number of requests per second with three or more digits. */
export function rateText(perSecond: number): string {
  return digits(perSecond);
}

/** A share as `12 %`. */
function shareText(share: number): string {
  return `${Math.round(share * 100)} %`;
}

function digits(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}
