import type { MemoryBudget } from "../platform/limits/memory/memory-budget.ts";
import type { Lease, ModelRef } from "./inference-service.ts";
import type { RecordedCount } from "./recorded-count.ts";
import type { RequestLogOptions } from "./request-log.ts";

/** Facts that decide on the record of a request. */
export interface RecordedCall {
  /** The model as the client named it. */
  readonly ref: ModelRef;
  /** Settings of the answering model. */
  readonly options: RequestLogOptions | undefined;
  /** Counts the bytes that wait to be written. */
  readonly memory: MemoryBudget;
}

/**
 * Records requests and their answers in files. It never delays or refuses a request: records that it cannot write are
 * dropped and counted.
 */
export interface RequestRecorder {
  /** A lease that records its request, if this one is to be recorded; else the lease itself. */
  recorded(lease: Lease, call: RecordedCall): Lease;
  /** Reports if requests of a model with these settings may be recorded. */
  mayRecord(options: RequestLogOptions | undefined): boolean;
  /** Ends the records of all other models than these, and forgets their numbers. */
  forget(served: ReadonlySet<string>): void;
  /** Numbers of requests by model and by the outcome of their record, until now. */
  counts(): readonly RecordedCount[];
}
