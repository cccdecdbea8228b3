import { findExampleInputs } from "../models/find-example-inputs.ts";
import { isBatched, type ModelFacts } from "../models/model-facts.ts";
import type { ModelHost } from "../models/model-host.ts";
import { sumStatistics } from "../models/queue/run-statistics.ts";
import { sumThreads } from "../observability/thread-states.ts";
import { isDecoupled } from "../pipeline/hook-places.ts";
import type { InferRequest, InferResponse } from "../pipeline/infer-request.ts";
import type { PipelineRunner } from "../pipeline/runner.ts";
import { describeTensors, type TensorFacts } from "../tensor/signature/describe-tensors.ts";
import type { ExampleInputs } from "../tensor/signature/example-inputs.ts";
import { defaultSignatureName } from "../tensor/signature/signature.ts";
import { LeaseCount } from "./lease-count.ts";
import type { ConfiguredFacts, ServableDescription } from "./servable-description.ts";
import { RequestCounter, type ServableStatistics } from "./servable-statistics.ts";

/** One version of a named pipeline, loaded and able to run requests. */
export interface Servable {
  readonly name: string;
  readonly version: bigint;
  readonly description: ServableDescription;
  /** Facts about the stages that are other models of this server, as of its load; their path is the name. */
  readonly needed: readonly ModelFacts[];
  /** Memory that it takes, in bytes; estimated from its files if it was not measured. */
  readonly memoryBytes: number;
  /** True if hooks run in this thread: they may keep tensors of requests and answers, and change them later. */
  readonly hooksShareTensors: boolean;
  /** Leases of running requests. */
  readonly leases: LeaseCount;
  /** Counts and times of its requests. */
  readonly requests: RequestCounter;
  /** Runs one request; throws only ServingError. */
  run(request: InferRequest): Promise<InferResponse>;
  /** Reports if requests can be run now. */
  isReady(): boolean;
  /** Times and counts of its requests, and of the runs of all its models, until now. */
  statistics(): Promise<ServableStatistics>;
  /**
   * Inputs for a first request; undefined for a model that no request can run. Without
   * hooks, they are those with which the first model runs.
   */
  exampleInputs(): Promise<ExampleInputs | undefined>;
  /** Replaces the hooks by their file as it is now; throws, and keeps the old ones, when the new ones fail. */
  reload(): Promise<void>;
  /** The files to watch for a reload; empty if there are none. */
  sources(): readonly string[];
  /** Ends the hooks, waits for the last predict of every model and frees them. */
  close(): Promise<void>;
}

/** Parts of a servable. */
export interface ServableParts {
  readonly runner: PipelineRunner;
  readonly hooksShareTensors: boolean;
  readonly hasHooks: boolean;
  readonly memoryBytes: number;
  readonly hosts: readonly Pick<ModelHost, "isReady" | "facts" | "handle" | "threads">[];
  /** The hosts that stand for other models of this server. */
  readonly needed: readonly Pick<ModelHost, "facts">[];
  /** Frees the hooks and the models. */
  readonly close: () => Promise<void>;
}

/** A version as its configuration describes it. */
interface DescribedVersion {
  readonly name: string;
  readonly version: bigint;
  /** Facts about its inputs and outputs, which count before those that its models and hooks tell. */
  readonly tensorFacts?: TensorFacts | undefined;
  readonly configured?: ConfiguredFacts | undefined;
}

/** Gives a pipeline its name; `close` frees its parts. */
export function createServable(source: DescribedVersion, parts: ServableParts): Servable {
  const { name, version } = source;
  const { runner, hosts, needed, hooksShareTensors, memoryBytes, close } = parts;
  const requests = new RequestCounter();
  const describe = createDescription(source, parts);
  return {
    name,
    version,
    get description() {
      return describe();
    },
    hooksShareTensors,
    memoryBytes,
    leases: new LeaseCount(),
    requests,
    needed: needed.map(({ facts }) => facts),
    run: (request) => runner.run(request),
    isReady: () => runner.isReady() && hosts.every((host) => host.isReady()),
    statistics: () => statisticsOf(parts, requests),
    exampleInputs: () => exampleInputsOf(parts),
    sources: () => runner.sources ?? [],
    reload: async () => runner.reload?.(),
    close,
  };
}

/** Creates what describes it; the same object until its hooks are replaced. */
function createDescription(
  { name: model, version, tensorFacts, configured }: DescribedVersion,
  { runner, hosts, needed, hasHooks }: ServableParts,
): () => ServableDescription {
  const models = hosts.map(({ facts }) => facts);
  const described = describeTensors(tensorFacts);
  const ofModels = {
    ...{ model, version, configured },
    drivers: models.map(({ driver }) => driver),
    models,
    graphRefusal: graphRefusal(models, { hasHooks, isOther: needed.length > 0 }),
  };
  let from: Pick<PipelineRunner, "signatures" | "hooks"> | undefined;
  let description: ServableDescription | undefined;
  return () => {
    const { signatures, hooks } = runner;
    if (description !== undefined && signatures === from?.signatures && hooks === from.hooks) return description;
    from = { signatures, hooks };
    const inParts = configured?.decoupled === true || isDecoupled(hooks, models) ? { decoupled: true } : {};
    description = Object.freeze({ ...ofModels, ...inParts, hooks, signatures: described(signatures) });
    return description;
  };
}

async function statisticsOf({ runner, hosts }: ServableParts, requests: RequestCounter): Promise<ServableStatistics> {
  return {
    requests: requests.statistics(),
    runs: sumStatistics(await Promise.all(hosts.map(({ handle }) => handle.statistics()))),
    isBatched: hosts.some(({ facts }) => isBatched(facts)),
    hooks: runner.hookTimes?.() ?? [],
    loadMs: hosts.reduce((sum, { facts }) => sum + facts.loadMs, 0),
    threads: {
      hook: sumThreads([runner.threads?.()].flatMap((counts) => counts ?? [])),
      model: sumThreads(hosts.flatMap((host) => host.threads?.() ?? [])),
    },
  };
}

/** Undefined for a signature without inputs or outputs, since no request has their values. */
async function exampleInputsOf({ runner, hosts, hasHooks }: ServableParts): Promise<ExampleInputs | undefined> {
  const signature = runner.signatures[defaultSignatureName(runner.signatures)] ?? {};
  if (signature.inputs?.length === 0 || signature.outputs?.length === 0) return undefined;
  return findExampleInputs(hasHooks ? undefined : hosts[0]?.handle, signature);
}

/** Facts about a pipeline. */
interface PipelineFacts {
  readonly hasHooks: boolean;
  /** True if a stage is another model of this server. */
  readonly isOther: boolean;
}

/** The reason why parts of a pipeline's graph cannot be run by tensor names; empty if they can. */
function graphRefusal(models: readonly ModelFacts[], { hasHooks, isOther }: PipelineFacts): string {
  const [only, second] = models;
  if (only === undefined || second !== undefined) return `it is a chain of ${models.length} models`;
  if (isOther) return "its stage is another model of this server; ask for that one";
  if (hasHooks) return "it has hooks, which such a run would leave out";
  if (only.runsGraph === true) return "";
  const runtime = only.runtime === undefined ? "" : ` (${only.runtime})`;
  return `the ${only.driver} driver${runtime} runs it; expected a SavedModel or a frozen graph in libtensorflow`;
}
