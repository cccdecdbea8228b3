import type { RequestInfo } from "../hooks/hooks.ts";
import type { RawFacts } from "../hooks/raw-entry.ts";
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
  /** The function of the hook file that gets the bytes of {@link RAW_BODY} in place of the pipeline. */
  readonly raw?: RawHead | undefined;
  readonly call: CallOptions;
}

/** Name of the only tensor of a request with a {@link RawHead}, and of its answer: the body's bytes. */
export const RAW_BODY = "body";

/** A call of a function of a hook file, with what it gets besides the body. */
export interface RawHead {
  /** Its name: `POST /score`. */
  readonly entry: string;
  readonly facts: RawFacts;
}

/** Result of a pipeline. */
export interface PipelineResult {
  readonly outputs: Payload;
  /** Metadata or headers that hooks set. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly contentType?: string;
  /** HTTP status of the answer to a request with a {@link RawHead}. */
  readonly status?: number;
}
