import { findExampleInputs } from "../model-host/find-example-inputs.ts";
import { type RunStatistics, sumStatistics } from "../model-host/queue/run-statistics.ts";
import type { ModelHost } from "../model-host/start-model.ts";
import type { PipelineRequest, PipelineResult } from "../pipeline/pipeline.ts";
import type { PipelineRunner } from "../pipeline/runner.ts";
import type { ExampleInputs } from "../signature/example-inputs.ts";
import { defaultSignatureName, type Signature } from "../signature/signature.ts";
import { RequestCounter, type RequestStatistics } from "./request-statistics.ts";

/** One version of a named pipeline, loaded and able to run requests. */
export interface Servable {
  readonly name: string;
  readonly version: bigint;
  /** Names of the drivers, in the order of the stages. */
  readonly drivers: readonly string[];
  readonly signatures: Readonly<Record<string, Signature>>;
  /** Rows that requests are put together to, where one model answers alone; 0 = they are not, or several models answer. */
  readonly maxBatchSize: number;
  /** Whether hooks run in this thread, which may keep and later change tensors of requests and answers. */
  readonly hooksShareTensors: boolean;
  /** Runs one request; throws only ServingError. */
  run(request: PipelineRequest): Promise<PipelineResult>;
  /** Whether requests can be run now. */
  isReady(): boolean;
  /** What its requests, and the runs of all its models, took until now. */
  statistics(): Promise<ServableStatistics>;
  /** Inputs for a first request: such as the first model was tried on, where no hook is there to be run by a try. */
  exampleInputs(): Promise<ExampleInputs>;
  /** Replaces the hooks by their file as it is now; throws, and keeps the old ones, when the new ones fail. */
  reload(): Promise<void>;
  /** The files to watch for a reload; empty where there is nothing to reload. */
  sources(): readonly string[];
  /** Resolves once no request is under way. */
  idle(): Promise<void>;
  /** Ends the hooks, waits for the last predict of every model and frees them. */
  close(): Promise<void>;
}

/** What requests took as a whole, and in its models. */
export interface ServableStatistics {
  readonly requests: RequestStatistics;
  readonly runs: RunStatistics;
}

/** What a servable is made of. */
export interface ServableParts {
  readonly runner: PipelineRunner;
  readonly hooksShareTensors: boolean;
  readonly hasHooks: boolean;
  readonly hosts: readonly Pick<ModelHost, "isReady" | "facts" | "handle">[];
  /** Frees all of it. */
  readonly close: () => Promise<void>;
}

/** Names a pipeline; `close` frees what it was made of. */
export function createServable(
  identity: { readonly name: string; readonly version: bigint },
  { runner, hooksShareTensors, hasHooks, hosts, close }: ServableParts,
): Servable {
  const { name, version } = identity;
  const counter = new RequestCounter();
  return {
    name,
    version,
    hooksShareTensors,
    drivers: hosts.map(({ facts }) => facts.driver),
    maxBatchSize: hosts.length === 1 ? (hosts[0]?.facts.maxBatchSize ?? 0) : 0,
    get signatures() {
      return runner.signatures;
    },
    run: (request) => counter.count(() => runner.run(request)),
    isReady: () => runner.isReady() && hosts.every((host) => host.isReady()),
    statistics: async () => ({
      requests: counter.statistics(),
      runs: sumStatistics(await Promise.all(hosts.map(({ handle }) => handle.statistics()))),
    }),
    exampleInputs: () => {
      const signature = runner.signatures[defaultSignatureName(runner.signatures)] ?? {};
      return findExampleInputs(hasHooks ? undefined : hosts[0]?.handle, signature);
    },
    sources: () => runner.sources ?? [],
    reload: async () => runner.reload?.(),
    idle: () => counter.idle(),
    close,
  };
}
