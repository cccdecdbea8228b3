import type { RequestInfo } from "../hooks/hooks.ts";
import type { CallOptions } from "./call-options.ts";
import type { Payload } from "./payload.ts";

/** One request to a pipeline. */
export interface PipelineRequest {
  readonly info: RequestInfo;
  readonly inputs: Payload;
  /** Output names wanted; absent = all. */
  readonly outputs?: readonly string[] | undefined;
  /** As {@link ModelCall.targets}; only for one model without hooks. */
  readonly targets?: readonly string[] | undefined;
  readonly call: CallOptions;
}

/** Result of a pipeline. */
export interface PipelineResult {
  readonly outputs: Payload;
  /** Metadata or headers that hooks set. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly contentType?: string;
}
