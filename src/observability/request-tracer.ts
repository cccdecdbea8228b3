import type { RequestOutcome } from "./access-log.ts";
import type { RequestRecord } from "./request-record.ts";
import type { RequestTrace } from "./trace-context.ts";

/** Records traces. */
export interface RequestTracer {
  /** The requests that are recorded. */
  readonly sampling: TraceSampling;
  /** The trace of a request that begins, by its headers or metadata; undefined = it is not recorded. */
  begin(metadata: Readonly<Record<string, unknown>>): RequestTrace | undefined;
  /** Records a request that is over and its parts. */
  over(record: RequestRecord, trace: RequestTrace, outcome: RequestOutcome): void;
}

/** Choice of the requests whose traces are recorded, which may be changed while the server runs. */
export interface TraceSampling {
  /** False = nothing is recorded, whatever clients record. */
  isOn: boolean;
  /** Part of the traces that begin here which is recorded, from 0 to 1. */
  ratio: number;
  /** Number of requests that are still recorded; Infinity = no limit. */
  left: number;
  /** The part at the start. */
  readonly firstRatio: number;
  /** Memory by which other threads sample alike, now and after each change; absent = they cannot. */
  readonly shared?: SharedArrayBuffer;
}
