import type { RequestOutcome } from "./access-log.ts";
import type { RequestRecord } from "./request-record.ts";
import type { RequestTrace } from "./trace-context.ts";
import type { TraceSampling } from "./trace-sampling.ts";

/** Records traces. */
export interface RequestTracer {
  /** The requests that are recorded. */
  readonly sampling: TraceSampling;
  /** The trace of a request that begins, by its headers or metadata; undefined = it is not recorded. */
  begin(metadata: Readonly<Record<string, unknown>>): RequestTrace | undefined;
  /** Records a request that is over and its parts. */
  over(record: RequestRecord, trace: RequestTrace, outcome: RequestOutcome): void;
}
