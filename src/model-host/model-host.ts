import { type CancelSignal, toAbortSignal } from "../async/cancel-source.ts";
import type { Driver, Model, PredictCall } from "../drivers/driver.ts";
import { expandAliases, parseOptions, type RawOptions } from "../drivers/option-table.ts";
import { failedPrecondition, publicText, reasonText, ServingError } from "../errors.ts";
import { lostPackage } from "../lost-package.ts";
import type { Logger } from "../observability/logger.ts";
import { steadyMs } from "../observability/steady-clock.ts";
import { assertOutputs } from "../signature/assert-outputs.ts";
import { defaultSignatureName, type Signature } from "../signature/signature.ts";
import type { Tensors } from "../tensor/tensor.ts";
import { checkInputs } from "./check-inputs.ts";
import { convertNumbers, markConversion } from "./convert-numbers.ts";
import { bytesOfPreprocessed, copiedBytes, whileCounted } from "./counted-run.ts";
import { type HostChoices, parseHostOptions } from "./host-options.ts";
import { decodeImageInputs, hasImages, type PreprocessInputs } from "./images/image-input.ts";
import { withImageLayouts } from "./images/image-layout.ts";
import type { ModelCall, ModelHandle } from "./model-handle.ts";
import { assertBatchable, BatchPolicy, rowsOf } from "./queue/batch-policy.ts";
import { flexibleBatch } from "./queue/flexible-batch.ts";
import { oneAtATime, RunQueue } from "./queue/run-queue.ts";

/** A model and its driver, in the thread where it is to run. */
export interface LoadSource {
  readonly driver: Driver;
  /** Empty for a driver that needs none. */
  readonly path: string;
  readonly options: RawOptions;
  /** Threads that the runtime may use. */
  readonly threads: number;
  /** The folder of the pipeline's hook file. */
  readonly hookFolder?: string | undefined;
  /** Reports the thread as unresponsive until the returned function is called. */
  readonly reportStuck?: () => () => void;
  /** Makes inputs of images; default = in this thread. */
  readonly preprocess?: PreprocessInputs;
}

/** Loads a model and gives it what drivers must not write again: checks, the concurrency gate, timing, error mapping, closing once. */
export async function loadHostedModel(source: LoadSource, log: Logger): Promise<ModelHandle> {
  const { driver, path, preprocess = decodeImageInputs } = source;
  const started = performance.now();
  const choices = parseHostOptions(expandAliases(driver.options, source.options), driver);
  const model = await openModel(source, choices, log);
  const loadMs = performance.now() - started;
  log.debug("model loaded", { driver: driver.name, path, ms: Math.round(loadMs) });
  return hostModel(model, { driver: driver.name, path, loadMs, log, choices, preprocess });
}

async function openModel(
  source: LoadSource,
  { batching, flexibleBatch: flexible }: HostChoices,
  log: Logger,
): Promise<Model> {
  const loaded = await load(source, log);
  try {
    const model = flexible ? flexibleBatch(loaded) : loaded;
    if (batching !== undefined) Object.values(model.signatures).forEach(assertBatchable);
    return model;
  } catch (reason) {
    await loaded.close();
    throw reason;
  }
}

async function load({ driver, path, options, ...place }: LoadSource, log: Logger): Promise<Model> {
  const parsed = parseOptions(driver.options, options);
  const { threads, hookFolder, reportStuck } = place;
  try {
    return await driver.load(path, parsed, {
      log,
      threads,
      ...(hookFolder !== undefined && { hookFolder }),
      ...(reportStuck !== undefined && { reportStuck }),
    });
  } catch (reason) {
    if (reason instanceof ServingError) throw reason;
    const lost = lostPackage(reason);
    if (lost !== undefined) throw lost;
    const message = `The ${driver.name} driver could not load ${path}: ${reasonText(reason)}`;
    throw failedPrecondition(message, reason);
  }
}

interface HostFacts {
  readonly driver: string;
  readonly path: string;
  readonly loadMs: number;
  readonly log: Logger;
  readonly choices: HostChoices;
  readonly preprocess: PreprocessInputs;
}

function hostModel(model: Model, facts: HostFacts): ModelHandle {
  const { preprocess, choices } = facts;
  const { batching, images, convertInputs } = choices;
  const signatures = withImageLayouts(model.signatures, images);
  const run = countedRun(model, facts);
  const policy = batching === undefined ? oneAtATime(run) : new BatchPolicy(batching, run);
  const queue = new RunQueue(policy, model.concurrency ?? 1);
  const push = (inputs: Tensors, { inputs: specs }: Signature, call: ModelCall) => {
    const converted = convertInputs ? convertNumbers(inputs, specs) : inputs;
    const checked = checkInputs(converted, specs, { shapes: model.checksShapes !== true });
    if (batching !== undefined) rowsOf(checked);
    return queue.push(checked, call);
  };
  /** Predicts whose images are being decoded; they are not in the queue yet. */
  const preprocessing = new Set<Promise<Tensors>>();
  let closed: Promise<void> | undefined;
  return {
    driver: facts.driver,
    path: facts.path,
    loadMs: facts.loadMs,
    signatures: convertInputs ? markConversion(signatures) : signatures,
    defaultSignature: defaultSignatureName(model.signatures),
    hookArgs: model.hookArgs ?? {},
    echoes: model.echoes ?? false,
    ...(batching !== undefined && { maxBatchSize: batching.maxRows }),
    ...(model.runtime !== undefined && { runtime: model.runtime }),
    ...(model.isPure !== undefined && { isPure: model.isPure }),
    ...(model.runGraph !== undefined && { runsGraph: true }),
    ...(model.memoryBytes !== undefined && { memoryBytes: model.memoryBytes }),
    ...(model.likelyInputs !== undefined && { likelyInputs: model.likelyInputs }),
    async predict(inputs, call) {
      if (closed !== undefined) throw new ServingError("unavailable", "The model is closed.");
      if (call.targets !== undefined) return runGraph(model, inputs, call, facts);
      const signature = signatureOf(model, call.signature);
      assertOutputs(call.outputs, signature.outputs);
      const { inputs: specs = [] } = signature;
      const choice = call.fromHook === true ? { ...images, fromHook: true } : images;
      try {
        if (!hasImages(inputs, specs, choice)) return await push(inputs, signature, call);
        const preprocessed = timedImages(preprocess(inputs, specs, choice, call.signal), call).then((decoded) =>
          whileCounted(bytesOfPreprocessed(decoded, inputs), () => push(decoded, signature, call)),
        );
        preprocessing.add(preprocessed);
        return await preprocessed.finally(() => preprocessing.delete(preprocessed));
      } catch (reason) {
        throw ServingError.from(reason);
      }
    },
    statistics: async () => queue.statistics(),
    isReady: () => model.isReady?.() ?? true,
    close: () => {
      closed ??= Promise.allSettled(preprocessing)
        .then(() => queue.idle())
        .then(() => model.close());
      return closed;
    },
  };
}

async function timedImages(preprocessing: Promise<Tensors>, { timeline }: ModelCall): Promise<Tensors> {
  if (timeline === undefined) return preprocessing;
  const start = steadyMs();
  const preprocessed = await preprocessing;
  timeline.add("images", start);
  return preprocessed;
}

/** Runs a model; the copies that batches and its driver make of inputs count as memory. */
function countedRun(model: Model, facts: HostFacts) {
  const copies = (facts.choices.batching === undefined ? 0 : 1) + (model.copiesInputs === true ? 1 : 0);
  return (inputs: Tensors, call: ModelCall): Promise<Tensors> =>
    copies === 0
      ? predict(model, inputs, call, facts)
      : whileCounted(copiedBytes(inputs, copies), () => predict(model, inputs, call, facts));
}

/** The signature's checks and queue are not for it: it has other inputs, and its runtime bounds such runs. */
async function runGraph(model: Model, inputs: Tensors, call: ModelCall, facts: HostFacts): Promise<Tensors> {
  const { outputs: fetches = [], targets = [] } = call;
  if (model.runGraph === undefined)
    throw failedPrecondition(`The ${facts.driver} model does not run parts of a graph.`);
  const { signal, deadlineMs } = new DriverCall(call);
  const run = { fetches, targets, signal, ...(deadlineMs !== undefined && { deadlineMs }) };
  const copies = model.copiesInputs === true ? 1 : 0;
  const ran = () => whileCounted(copiedBytes(inputs, copies), async () => model.runGraph!(inputs, run));
  return timed(ran, call, facts);
}

function runError(reason: unknown, { signal }: ModelCall, { driver }: HostFacts): unknown {
  if (reason instanceof ServingError) return reason;
  if (signal.aborted) return signal.reason;
  return new ServingError("internal", `The ${driver} model failed: ${publicText(reason)}`, { cause: reason });
}

async function predict(model: Model, inputs: Tensors, call: ModelCall, facts: HostFacts): Promise<Tensors> {
  if (call.timeline !== undefined || facts.log.level === "trace")
    return timed(() => model.predict(inputs, new DriverCall(call)), call, facts);
  try {
    return await model.predict(inputs, new DriverCall(call));
  } catch (reason) {
    throw runError(reason, call, facts);
  }
}

/** Runs a model and logs the duration. */
async function timed(run: () => Promise<Tensors>, call: ModelCall, facts: HostFacts): Promise<Tensors> {
  const { driver, log } = facts;
  const start = steadyMs();
  let code: string | undefined;
  try {
    return await run();
  } catch (reason) {
    const error = runError(reason, call, facts);
    code = ServingError.from(error).code;
    throw error;
  } finally {
    const end = steadyMs();
    call.timeline?.add("model", start, end, { code });
    if (log.level === "trace") log.trace("predict", { requestId: call.requestId, driver, ms: end - start });
  }
}

/** A call as its driver sees it. */
class DriverCall implements PredictCall {
  readonly signature: string;
  readonly outputs?: readonly string[];
  /** Milliseconds left of the deadline now that the run's turn has come. */
  readonly deadlineMs?: number;
  readonly #signal: CancelSignal;

  constructor({ signature, outputs, signal, deadline }: ModelCall) {
    this.signature = signature;
    this.#signal = signal;
    if (outputs !== undefined) this.outputs = outputs;
    if (deadline !== undefined) this.deadlineMs = Math.max(0, deadline - Date.now());
  }

  /** Created lazily: few drivers read it. */
  get signal(): AbortSignal {
    return toAbortSignal(this.#signal);
  }
}

function signatureOf({ signatures }: Model, name: string): Signature {
  const signature = Object.hasOwn(signatures, name) ? signatures[name] : undefined;
  if (signature !== undefined) return signature;
  const known = Object.keys(signatures).join(", ");
  throw failedPrecondition(`Serving signature key "${name}" not found. The model has ${known}.`);
}
