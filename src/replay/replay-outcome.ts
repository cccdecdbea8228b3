import type { Difference } from "./compare-tensors.ts";

/** Maximum number of distinct texts of failures. */
const MAX_FAILURES = 20;

/** An output that came otherwise than it was recorded. */
export interface WorstDifference extends Difference {
  /** Requests in which it did. */
  count: number;
  /** The request with the greatest difference. */
  place: string;
}

/** Requests that failed with the same text. */
export interface Failure {
  readonly text: string;
  /** The first of them. */
  readonly place: string;
  count: number;
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

  /** Counts an answer by how it differs; undefined where none was recorded. */
  answered(place: string, latencyMs: number, differences: readonly Difference[] | undefined): void {
    this.latencies.push(latencyMs);
    if (differences === undefined) this.unrecorded++;
    else if (differences.length === 0) this.equal++;
    else this.different++;
    for (const difference of differences ?? []) this.#addDifference(difference, place);
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
