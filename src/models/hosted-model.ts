import { readFileSync } from "node:fs";
import type { Model, PartsModel } from "../drivers/driver.ts";
import { failedPrecondition, ServingError } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";
import { steadyMs } from "../observability/steady-clock.ts";
import { convertTensor } from "../tensor/convert-tensor.ts";
import { assertOutputs } from "../tensor/signature/choose-signature.ts";
import { exemplify, labelClasses } from "../tensor/signature/describe-tensors.ts";
import { isConvertible, type Signature, type TensorSpec } from "../tensor/signature/signature.ts";
import { createTensors, type Tensor, type Tensors } from "../tensor/tensor.ts";
import { checkInputs } from "./check-inputs.ts";
import type { ForeignModel } from "./foreign-model.ts";
import type { HostChoices } from "./host-options.ts";
import { hasImages, type PreprocessInputs } from "./images/image-input.ts";
import { withImageLayouts } from "./images/image-layout.ts";
import { toModelFacts } from "./model-facts.ts";
import type { ModelCall, ModelHandle } from "./model-handle.ts";
import { BatchPolicy } from "./queue/batch-policy.ts";
import { assertRequestRows, rowsOf } from "./queue/batch-rows.ts";
import { type RunPolicy, RunQueue } from "./queue/run-queue.ts";
import { type RunMark, whileMarked } from "./run-mark.ts";
import { createRun, outputsOf, type RunnableModel, runGraph } from "./run-model.ts";
import type { ModelTurns } from "./threads/thread-turns.ts";
import { bytesOfPreprocessed, whileCounted } from "./while-counted.ts";

/** Facts about a loaded model that its runs need. */
export interface HostFacts {
  readonly driver: string;
  readonly path: string;
  readonly loadMs: number;
  readonly log: Logger;
  readonly choices: HostChoices;
  readonly preprocess: PreprocessInputs;
  /** Turns of a model that shares its thread; absent = it has its own. */
  readonly turns?: ModelTurns | undefined;
  /** Absent = the model's runs are not marked. */
  readonly mark?: RunMark | undefined;
  /** Values of inputs that were saved with the model, by name. */
  readonly example?: ReadonlyMap<string, string | number> | undefined;
  /** Of a user's own driver; absent for others. */
  readonly foreign?: ForeignModel | undefined;
}

/** Adds to a loaded model what all drivers need: checks, the concurrency gate, timing, error mapping, closing once. */
export function hostModel(model: Model | PartsModel, facts: HostFacts): ModelHandle {
  const { driver, log, preprocess, choices, turns, mark, example, foreign } = facts;
  const { batching, images, convertInputs, labels, maxRequestRows } = choices;
  const known = example === undefined ? model.signatures : exemplify(model.signatures, example);
  const signatures = labelByOption(withImageLayouts(known, images), labels, log);
  const isBatched = batching !== undefined;
  const declared = foreign && { foreign, declared: outputsOf(model, isBatched) };
  const runnable: RunnableModel = { model, driver, isBatched, ...declared, mark, turns, log };
  const run = createRun(runnable);
  const lengthOf = (inputs: Tensors, signature: string) => model.lengthOf?.(inputs, signature) ?? 0;
  const policy =
    batching === undefined ? oneAtATime(run) : new BatchPolicy(batching, { predict: run, lengthOf }, turns?.pause);
  const queue = new RunQueue(policy, model.concurrency ?? 1, turns);
  const push = (inputs: Tensors, { inputs: specs }: Signature, call: ModelCall) => {
    const converted = convertInputs ? convertNumbers(inputs, specs) : inputs;
    const checked = checkInputs(converted, specs, { shapes: model.checksShapes !== true });
    if (batching !== undefined && batching.isImplied !== true) rowsOf(checked);
    assertRequestRows(checked, maxRequestRows);
    return model.predictStream === undefined ? queue.push(checked, call) : pushParts(queue, checked, call);
  };
  /** Predicts whose images are being decoded; they are not in the queue yet. */
  const preprocessing = new Set<Promise<Tensors>>();
  let closed: Promise<void> | undefined;
  return {
    ...toModelFacts(model, {
      ...{ driver, batching, path: facts.path, loadMs: facts.loadMs },
      signatures: convertInputs ? markConversion(signatures) : signatures,
    }),
    hookArgs: model.hookArgs ?? {},
    async predict(inputs, call) {
      if (closed !== undefined) throw new ServingError("unavailable", "The model is closed.");
      if (call.targets !== undefined) return runGraph(runnable, inputs, call);
      const signature = signatureOf(model, call.signature);
      assertOutputs(call.outputs, signature.outputs);
      const { inputs: specs = [] } = signature;
      try {
        if (!hasImages(inputs, specs, call.limits)) return await push(inputs, signature, call);
        const preprocessed = timedImages(preprocess(inputs, specs, images, call), call).then((decoded) =>
          whileCounted(bytesOfPreprocessed(decoded, inputs), () => push(decoded, signature, call)),
        );
        preprocessing.add(preprocessed);
        return await preprocessed.finally(() => preprocessing.delete(preprocessed));
      } catch (reason) {
        throw ServingError.from(reason);
      }
    },
    statistics: async () => ({ ...queue.statistics(), renewals: model.renewals?.() ?? 0 }),
    ...processesOf(model),
    close: () => {
      closed ??= Promise.allSettled(preprocessing)
        .then(() => queue.idle())
        .then(() => whileMarked(mark, () => model.close()));
      return closed;
    },
  };
}

/**
 * Rejects with a failed run's error at once: its generator, which keeps the place in the queue, may never end. The time
 * of who takes its parts is not that of the run.
 */
function pushParts(queue: RunQueue, inputs: Tensors, call: ModelCall): Promise<Tensors> {
  return new Promise((resolve, onFailed) => {
    queue.push(inputs, { ...call, onFailed, taking: { ms: 0, since: undefined } }).then(resolve, onFailed);
  });
}

/** The state of a model that runs in its own processes. */
function processesOf(model: Pick<Model, "isReady" | "processIds">): Pick<ModelHandle, "isReady" | "processIds"> {
  return { isReady: () => model.isReady?.() ?? true, processIds: () => model.processIds?.() ?? [] };
}

async function timedImages(preprocessing: Promise<Tensors>, { timeline }: ModelCall): Promise<Tensors> {
  if (timeline === undefined) return preprocessing;
  const start = steadyMs();
  const preprocessed = await preprocessing;
  timeline.add("images", start);
  return preprocessed;
}

function signatureOf({ signatures }: Pick<Model, "signatures">, name: string): Signature {
  const signature = Object.hasOwn(signatures, name) ? signatures[name] : undefined;
  if (signature !== undefined) return signature;
  const known = Object.keys(signatures).join(", ");
  throw failedPrecondition(`Serving signature key "${name}" not found. The model has ${known}.`);
}

type Signatures = Readonly<Record<string, Signature>>;

/**
 * The signatures with the names of classes that the option `labels` gives; as they are without it. Warns if no
 * output has so many classes.
 */
function labelByOption(signatures: Signatures, option: string | undefined, log: Logger): Signatures {
  if (option === undefined) return signatures;
  const labels = readLabels(option);
  const labelled = labelClasses(signatures, labels);
  const outputs = Object.values(labelled).flatMap((signature) => signature.outputs ?? []);
  if (outputs.length > 0 && outputs.every((spec) => spec.labels === undefined)) {
    const found = outputs.map(({ name, shape }) => `${name} [${shape ?? "any shape"}]`).join(", ");
    log.warn(`labels names ${labels.length} classes (${labels[0]}, …), and no output has as many columns: ${found}.`);
  }
  return labelled;
}

/** Hooks may take an option of this name too, so that a text which is not a file is not an error. */
function readLabels(option: string): readonly string[] {
  try {
    return readFileSync(option, "utf8").trimEnd().split(/\r?\n/);
  } catch {
    return option.split(",").map((label) => label.trim());
  }
}

/**
 * Inputs whose numbers have the dtypes of a signature; other values pass as they are, for the checks to refuse. Throws
 * `invalid_argument`, naming the input, for a number that the dtype does not hold.
 */
function convertNumbers(inputs: Tensors, specs: readonly TensorSpec[] | undefined): Tensors {
  const isOther = (spec: TensorSpec) => {
    const came = inputs[spec.name]?.dtype;
    return came !== undefined && came !== spec.dtype && isConvertible(came, spec.dtype);
  };
  const others = specs?.filter(isOther) ?? [];
  if (others.length === 0) return inputs;
  const converted = createTensors(Object.entries(inputs));
  for (const { name, dtype } of others) converted[name] = convertInput(name, inputs[name]!, dtype);
  return converted;
}

/** The signatures, with a mark on every input whose numbers are converted. */
function markConversion(signatures: Readonly<Record<string, Signature>>): Readonly<Record<string, Signature>> {
  const mark = (spec: TensorSpec): TensorSpec =>
    isConvertible(spec.dtype, spec.dtype) ? { ...spec, convertsNumbers: true } : spec;
  const entries = Object.entries(signatures).map(
    ([name, { inputs, ...rest }]) => [name, { ...(inputs && { inputs: inputs.map(mark) }), ...rest }] as const,
  );
  return Object.fromEntries(entries);
}

function convertInput(name: string, tensor: Tensor, dtype: TensorSpec["dtype"]): Tensor {
  try {
    return convertTensor(tensor, dtype);
  } catch (cause) {
    const { code, message } = ServingError.from(cause);
    throw new ServingError(code, `Input "${name}" is ${tensor.dtype}; the model takes ${dtype}. ${message}`, { cause });
  }
}

/** Runs each predict alone. */
export function oneAtATime(predict: (inputs: Tensors, call: ModelCall) => Promise<Tensors>): RunPolicy {
  return {
    take: (waiting) => waiting.splice(0, 1),
    lingerMs: () => 0,
    rowsOf: () => 1,
    runAlone: predict,
    run: ([run], onRan) => {
      const { inputs, call } = run!;
      const started = performance.now();
      const ran = () => onRan({ requests: 1, rows: 1, ms: performance.now() - started - (call.taking?.ms ?? 0) });
      return predict(inputs, call).then(
        (outputs) => {
          ran();
          run!.resolve(outputs);
        },
        (reason) => {
          ran();
          run!.reject(reason);
        },
      );
    },
  };
}
