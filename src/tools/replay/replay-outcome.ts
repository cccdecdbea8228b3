import { percentile } from "../../observability/metrics/histogram.ts";
import { toColumns } from "../../platform/text/terminal.ts";
import type { Difference } from "./compare-tensors.ts";

/** Maximum number of distinct texts of failures. */
const MAX_FAILURES = 20;

/** An output that came otherwise than it was recorded. */
interface WorstDifference extends Difference {
  /** Requests in which it did. */
  count: number;
  /** The request with the greatest difference. */
  place: string;
}

/** Requests that failed with the same text. */
interface Failure {
  readonly text: string;
  /** The first of them. */
  readonly place: string;
  count: number;
}

/** Times of the parts of answers, in milliseconds. */
class PartTimes {
  /** Until the first part. */
  readonly first: number[] = [];
  /** Until each other one, from the part before it. */
  readonly next: number[] = [];

  /** Adds the parts of one answer, by the time from its request on. */
  add(times: readonly number[]): void {
    for (const [index, time] of times.entries()) {
      if (index === 0) this.first.push(time);
      else this.next.push(time - (times[index - 1] as number));
    }
  }
}

/** Counts the results of a replay. */
export class ReplayOutcome {
  equal = 0;
  different = 0;
  failed = 0;
  /** Requests whose answers were not recorded. */
  unrecorded = 0;
  /** Requests whose recorded times were wanted, and are not there. */
  untimed = 0;
  /** Of the requests that did not fail, in milliseconds. */
  readonly latencies: number[] = [];
  /** Answers in parts. */
  streams = 0;
  /** Times of their parts as they were recorded, and as they came. */
  readonly partTimes = { recorded: new PartTimes(), came: new PartTimes() };
  /** By output. */
  readonly worst = new Map<string, WorstDifference>();
  readonly failures: Failure[] = [];
  readonly damages: string[] = [];
  /** By kind. */
  readonly leftOut = new Map<string, number>();

  /** Requests that were sent. */
  get sent(): number {
    return this.equal + this.different + this.failed + this.unrecorded;
  }

  /** Counts an answer by how it differs; undefined if none was recorded. */
  answered(place: string, latencyMs: number, differences: readonly Difference[] | undefined): void {
    this.latencies.push(latencyMs);
    if (differences === undefined) this.unrecorded++;
    else if (differences.length === 0) this.equal++;
    else this.different++;
    for (const difference of differences ?? []) this.#addDifference(difference, place);
  }

  /** Counts the times of an answer in parts, in milliseconds from the request on. */
  addParts(recorded: readonly number[], came: readonly number[]): void {
    this.streams++;
    this.partTimes.recorded.add(recorded);
    this.partTimes.came.add(came);
  }

  /** Counts a request that failed. */
  fail(place: string, text: string): void {
    this.failed++;
    const known = this.failures.find((failure) => failure.text === text);
    if (known !== undefined) known.count++;
    else if (this.failures.length < MAX_FAILURES) this.failures.push({ text, place, count: 1 });
  }

  onDamage(text: string): void {
    this.damages.push(text);
  }

  onLeftOut(kind: string): void {
    this.leftOut.set(kind, (this.leftOut.get(kind) ?? 0) + 1);
  }

  #addDifference(difference: Difference, place: string): void {
    const known = this.worst.get(difference.output);
    const count = (known?.count ?? 0) + 1;
    if (known !== undefined && known.distance >= difference.distance) known.count = count;
    else this.worst.set(difference.output, { ...difference, place, count });
  }
}

/** The results of a replay as plain data; times are in milliseconds, null where there are none. */
export function toReplayFacts(outcome: ReplayOutcome): object {
  const { equal, different, failed, unrecorded, untimed, streams, damages, failures } = outcome;
  const { recorded, came } = outcome.partTimes;
  const sorted = Float64Array.from(outcome.latencies).sort();
  const [p50, p90, p99, max] = SHARES.map((share) => percentile(sorted, share) ?? null);
  const middle = (times: readonly number[]) => percentile(Float64Array.from(times).sort(), 0.5) ?? null;
  const times = ({ first, next }: PartTimes) => ({ firstMs: middle(first), nextMs: middle(next) });
  return {
    ...{ requests: outcome.sent, equal, different, failed, notCompared: unrecorded, withoutTime: untimed },
    latencyMs: { p50, p90, p99, max },
    ...(streams > 0 && {
      parts: {
        answers: streams,
        parts: came.first.length + came.next.length,
        ...times(came),
        recorded: times(recorded),
      },
    }),
    outputs: Array.from(outcome.worst.values(), ({ output, count, text, place }) => ({
      ...{ output, requests: count, greatestDifference: text, place },
    })),
    failures: failures.map(({ text, place, count }) => ({ reason: text, requests: count, place })),
    leftOut: Object.fromEntries(outcome.leftOut),
    damages,
  };
}

/** The percentiles that are shown; the last is the greatest. */
const SHARES = [0.5, 0.9, 0.99, 1] as const;

/** The results of a replay as lines: counts and latencies, differing outputs, failures, and skipped records. */
export function toReplayTable(outcome: ReplayOutcome): string[] {
  return [
    ...countLines(outcome),
    ...partLines(outcome),
    ...differenceLines(outcome),
    ...failureLines(outcome),
    ...unsentLines(outcome),
  ];
}

function countLines({ sent, equal, different, failed, unrecorded, latencies }: ReplayOutcome): string[] {
  const sorted = Float64Array.from(latencies).sort();
  const names = ["Requests", "Equal", "Different", "Failed", "Not compared", "p50 ms", "p90 ms", "p99 ms", "Max ms"];
  const counts = [sent, equal, different, failed, unrecorded].map(String);
  return toColumns([names, [...counts, ...SHARES.map((share) => percentileText(sorted, share))]]);
}

function partLines({ streams, partTimes: { recorded, came } }: ReplayOutcome): string[] {
  if (streams === 0) return [];
  const middle = (times: readonly number[]) => percentileText(Float64Array.from(times).sort(), 0.5);
  const names = ["Answers in parts", "Parts", "First part p50 ms", "recorded", "Next part p50 ms", "recorded"];
  const times = [came.first, recorded.first, came.next, recorded.next].map(middle);
  return ["", ...toColumns([names, [String(streams), String(came.first.length + came.next.length), ...times]])];
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
