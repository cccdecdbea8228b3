import { percentile } from "../observability/percentile.ts";
import { toColumns } from "../text/columns.ts";
import type { ReplayOutcome } from "./replay-outcome.ts";

/** The results of a replay as lines: counts and latencies, differing outputs, failures, and skipped records. */
export function toReplayTable(outcome: ReplayOutcome): string[] {
  return [...countLines(outcome), ...differenceLines(outcome), ...failureLines(outcome), ...unsentLines(outcome)];
}

function countLines({ sent, equal, different, failed, unrecorded, latencies }: ReplayOutcome): string[] {
  const sorted = Float64Array.from(latencies).sort();
  const names = ["Requests", "Equal", "Different", "Failed", "Not compared", "p50 ms", "p90 ms", "p99 ms", "Max ms"];
  const counts = [sent, equal, different, failed, unrecorded].map(String);
  return toColumns([names, [...counts, ...[0.5, 0.9, 0.99, 1].map((share) => percentileText(sorted, share))]]);
}

function percentileText(sorted: Float64Array, share: number): string {
  const value = percentile(sorted, share);
  return value === undefined ? "-" : value.toFixed(value < 10 ? 2 : 0);
}

function differenceLines({ worst }: ReplayOutcome): string[] {
  if (worst.size === 0) return [];
  const rows = Array.from(worst.values(), ({ output, count, text, place }) => [output, String(count), text, place]);
  return ["", ...toColumns([["Output", "Requests", "Greatest difference", "Where"], ...rows])];
}

function failureLines({ failures }: ReplayOutcome): string[] {
  if (failures.length === 0) return [];
  const rows = failures.map(({ text, place, count }) => [String(count), place, text]);
  return ["", ...toColumns([["Failed", "First", "Reason"], ...rows])];
}

function unsentLines({ leftOut, damages, unrecorded, untimed }: ReplayOutcome): string[] {
  const kinds = Array.from(leftOut, ([kind, count]) => `${kind} (${count})`).join(", ");
  return [
    ...(unrecorded > 0 ? ["", `${unrecorded} requests have no recorded answer to compare with.`] : []),
    ...(untimed > 0 ? ["", `${untimed} requests have no recorded time, and were sent without a wait.`] : []),
    ...(kinds === "" ? [] : ["", `Left out: ${kinds}.`]),
    ...damages.flatMap((text) => ["", text]),
  ];
}
