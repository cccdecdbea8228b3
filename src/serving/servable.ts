import type { Signature } from "../drivers/driver.ts";
import type { ModelHost } from "../model-host/start-model.ts";
import type { PipelineRequest, PipelineResult } from "../pipeline/pipeline.ts";
import type { PipelineRunner } from "../pipeline/runner.ts";

/** One version of a named pipeline, loaded and able to run requests. */
export interface Servable {
  readonly name: string;
  readonly version: bigint;
  readonly signatures: Readonly<Record<string, Signature>>;
  /** Runs one request; throws only ServingError. */
  run(request: PipelineRequest): Promise<PipelineResult>;
  /** Whether requests can be run now. */
  isReady(): boolean;
  /** Replaces the hooks by their file as it is now; throws, and keeps the old ones, when the new ones fail. */
  reload(): Promise<void>;
  /** The files to watch for a reload; empty where there is nothing to reload. */
  sources(): readonly string[];
  /** Ends the hooks, waits for the last predict of every model and frees them. */
  close(): Promise<void>;
}

/** What a servable is made of. */
export interface ServableParts {
  readonly runner: PipelineRunner;
  readonly hosts: readonly Pick<ModelHost, "isReady">[];
  /** Frees all of it. */
  readonly close: () => Promise<void>;
}

/** Names a pipeline; `close` frees what it was made of. */
export function createServable(
  identity: { readonly name: string; readonly version: bigint },
  { runner, hosts, close }: ServableParts,
): Servable {
  const { name, version } = identity;
  return {
    name,
    version,
    get signatures() {
      return runner.signatures;
    },
    run: (request) => runner.run(request),
    isReady: () => runner.isReady() && hosts.every((host) => host.isReady()),
    sources: () => runner.sources ?? [],
    reload: async () => runner.reload?.(),
    close,
  };
}
