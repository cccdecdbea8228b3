import type { Signature } from "../drivers/driver.ts";
import type { Pipeline, PipelineRequest, PipelineResult } from "../pipeline/pipeline.ts";

/** One version of a named pipeline, loaded and able to run requests. */
export interface Servable {
  readonly name: string;
  readonly version: bigint;
  readonly signatures: Readonly<Record<string, Signature>>;
  /** Runs one request; throws only ServingError. */
  run(request: PipelineRequest): Promise<PipelineResult>;
  /** Ends the hooks, waits for the last predict of every model and frees them. */
  close(): Promise<void>;
}

/** Names a pipeline; `close` frees what it was made of. */
export function createServable(
  identity: { readonly name: string; readonly version: bigint },
  pipeline: Pipeline,
  close: () => Promise<void>,
): Servable {
  return { ...identity, signatures: pipeline.signatures, run: (request) => pipeline.run(request), close };
}
