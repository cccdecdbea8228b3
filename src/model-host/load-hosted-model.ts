import type { Driver, Model, ModelCopies } from "../drivers/driver.ts";
import { lfsPointers } from "../drivers/lfs-pointers.ts";
import { expandAliases, parseOptions, type RawOptions } from "../drivers/option-table.ts";
import { failedPrecondition, reasonText, ServingError } from "../errors.ts";
import { lostPackage } from "../lost-package.ts";
import type { Logger } from "../observability/logger.ts";
import { steadyMs } from "../observability/steady-clock.ts";
import { assertOutputs } from "../signature/assert-outputs.ts";
import { defaultSignatureName, type Signature } from "../signature/signature.ts";
import type { Tensors } from "../tensor/tensor.ts";
import { checkInputs } from "./check-inputs.ts";
import { convertNumbers, markConversion } from "./convert-numbers.ts";
import { bytesOfPreprocessed, whileCounted } from "./counted-run.ts";
import { type HostChoices, parseHostOptions } from "./host-options.ts";
import { decodeImageInputs, hasImages, type PreprocessInputs } from "./images/image-input.ts";
import { withImageLayouts } from "./images/image-layout.ts";
import { labelByOption } from "./label-by-option.ts";
import type { ModelFacts } from "./model-facts.ts";
import type { ModelCall, ModelHandle } from "./model-handle.ts";
import { assertBatchable, BatchPolicy } from "./queue/batch-policy.ts";
import { assertRequestRows, rowsOf } from "./queue/batch-rows.ts";
import { flexibleBatch } from "./queue/flexible-batch.ts";
import { oneAtATime } from "./queue/one-at-a-time.ts";
import { RunQueue } from "./queue/run-queue.ts";
import { countedRun, type RunnableModel, runGraph } from "./run-model.ts";

/** A model and its driver, in the thread where it is to run. */
export interface LoadSource {
  readonly driver: Driver;
  /** Empty for a driver that needs none. */
  readonly path: string;
  readonly options: RawOptions;
  /** Threads that the runtime may use. */
  readonly threads: number;
  /** The copies of the model in this process, where there are several. */
  readonly copies?: ModelCopies | undefined;
  /** As in {@link DriverHost}. */
  readonly poolCalls?: SharedArrayBuffer | undefined;
  /** The folder of the pipeline's hook file. */
  readonly hookFolder?: string | undefined;
  /** Reports the thread as unresponsive until the returned function is called. */
  readonly reportStuck?: () => () => void;
  /** Makes inputs of images; default = in this thread. */
  readonly preprocess?: PreprocessInputs;
}

/** Pointers that a message names. */
const MOST_NAMED = 3;

/** Loads a model and adds what all drivers need: checks, the concurrency gate, timing, error mapping, closing once. */
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
  const { threads, copies, poolCalls, hookFolder, reportStuck } = place;
  try {
    return await driver.load(path, parsed, {
      log,
      threads,
      ...(copies !== undefined && { copies }),
      ...(poolCalls !== undefined && { poolCalls }),
      ...(hookFolder !== undefined && { hookFolder }),
      ...(reportStuck !== undefined && { reportStuck }),
    });
  } catch (reason) {
    if (reason instanceof ServingError) throw withPointers(reason, path);
    const lost = lostPackage(reason);
    if (lost !== undefined) throw lost;
    const message = `The ${driver.name} driver could not load ${path}: ${reasonText(reason)}`;
    throw failedPrecondition(message, reason);
  }
}

/** The error with the pointers in the place of weights, of which a runtime says that they are cut short. */
function withPointers(error: ServingError, path: string): ServingError {
  const { code, message } = error;
  if (path === "" || message.includes("git lfs")) return error;
  const pointers = lfsPointers(path, message);
  if (pointers.length === 0) return error;
  const names = pointers.slice(0, MOST_NAMED).join(", ");
  const advice = `Git LFS pointers are in the place of ${names}; run "git lfs pull" to get the files themselves.`;
  return new ServingError(code, `${message} ${advice}`, { cause: error });
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
  const { batching, images, convertInputs, labels, maxRequestRows } = choices;
  const signatures = labelByOption(withImageLayouts(model.signatures, images), labels, facts.log);
  const runnable: RunnableModel = { model, driver: facts.driver, isBatched: batching !== undefined, log: facts.log };
  const run = countedRun(runnable);
  const policy = batching === undefined ? oneAtATime(run) : new BatchPolicy(batching, run);
  const queue = new RunQueue(policy, model.concurrency ?? 1);
  const push = (inputs: Tensors, { inputs: specs }: Signature, call: ModelCall) => {
    const converted = convertInputs ? convertNumbers(inputs, specs) : inputs;
    const checked = checkInputs(converted, specs, { shapes: model.checksShapes !== true });
    if (batching !== undefined) rowsOf(checked);
    assertRequestRows(checked, maxRequestRows);
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
    ...knownFacts(model),
    async predict(inputs, call) {
      if (closed !== undefined) throw new ServingError("unavailable", "The model is closed.");
      if (call.targets !== undefined) return runGraph(runnable, inputs, call);
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
    ...processesOf(model),
    close: () => {
      closed ??= Promise.allSettled(preprocessing)
        .then(() => queue.idle())
        .then(() => model.close());
      return closed;
    },
  };
}

/** The facts that a driver may leave out. */
function knownFacts(model: Model): Partial<ModelFacts> {
  const { runtime, isPure, isSteady, runGraph, memoryBytes, likelyInputs, unserved, modelInfo } = model;
  return {
    ...(runtime !== undefined && { runtime }),
    ...(isPure !== undefined && { isPure }),
    ...(isSteady !== undefined && { isSteady }),
    ...(runGraph !== undefined && { runsGraph: true }),
    ...(memoryBytes !== undefined && { memoryBytes }),
    ...(likelyInputs !== undefined && { likelyInputs }),
    ...(unserved !== undefined && { unserved }),
    ...(modelInfo !== undefined && { modelInfo }),
  };
}

/** The state of a model that runs in processes of its own. */
function processesOf(model: Model): Pick<ModelHandle, "isReady" | "processIds"> {
  return { isReady: () => model.isReady?.() ?? true, processIds: () => model.processIds?.() ?? [] };
}

async function timedImages(preprocessing: Promise<Tensors>, { timeline }: ModelCall): Promise<Tensors> {
  if (timeline === undefined) return preprocessing;
  const start = steadyMs();
  const preprocessed = await preprocessing;
  timeline.add("images", start);
  return preprocessed;
}

function signatureOf({ signatures }: Model, name: string): Signature {
  const signature = Object.hasOwn(signatures, name) ? signatures[name] : undefined;
  if (signature !== undefined) return signature;
  const known = Object.keys(signatures).join(", ");
  throw failedPrecondition(`Serving signature key "${name}" not found. The model has ${known}.`);
}
