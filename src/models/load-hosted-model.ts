import type { Driver, Model, ModelCopies, PartsModel, PredictCall } from "../drivers/driver.ts";
import { lfsPointers } from "../drivers/file-kind.ts";
import { expandAliases, parseOptions, type RawOptions } from "../drivers/option-table.ts";
import { readMlflowExample } from "../drivers/python/mlflow-folder.ts";
import { failedPrecondition, invalidArgument, reasonText, ServingError } from "../errors.ts";
import { lostPackage } from "../lost-package.ts";
import type { Logger } from "../observability/logger.ts";
import { rowCount, sliceRows } from "../tensor/rows.ts";
import type { Dimension, Signature, TensorSpec } from "../tensor/signature/signature.ts";
import { createTensors, type Tensors } from "../tensor/tensor.ts";
import { tokenizerFolder } from "../text/tokenizer-folder.ts";
import { assertModel } from "./foreign-model.ts";
import { type HostChoices, parseHostOptions } from "./host-options.ts";
import { hostModel } from "./hosted-model.ts";
import { decodeImageInputs, type PreprocessInputs } from "./images/image-input.ts";
import type { ModelHandle } from "./model-handle.ts";
import { checkedRows, joinParts } from "./queue/batch-rows.ts";
import { assertBatchable, impliedBatching, withinBounds } from "./queue/batching.ts";
import type { RunMark } from "./run-mark.ts";
import type { ModelTurns } from "./threads/thread-turns.ts";

/** A model and its driver, in the thread where it is to run. */
export interface LoadSource {
  readonly driver: Driver;
  /** Empty for a driver that needs none. */
  readonly path: string;
  readonly options: RawOptions;
  /** Threads that the runtime may use. */
  readonly threads: number;
  /** The copies of the model in this process, if there are several. */
  readonly copies?: ModelCopies | undefined;
  /** As in {@link DriverHost}. */
  readonly poolCalls?: SharedArrayBuffer | undefined;
  /** The folder of the pipeline's hook file. */
  readonly hookFolder?: string | undefined;
  /** As in {@link DriverHost}. */
  readonly signal?: AbortSignal | undefined;
  /** Reports the thread as unresponsive until the returned function is called. */
  readonly reportStuck?: () => () => void;
  /** Makes inputs of images; default = in this thread. */
  readonly preprocess?: PreprocessInputs;
  /** Turns of the model, if others share its thread. */
  readonly turns?: ModelTurns | undefined;
  /** Absent = the model's runs are not marked. */
  readonly mark?: RunMark | undefined;
  /** The model's name, if the driver is a user's own: what that returns is checked. */
  readonly foreignName?: string | undefined;
}

/** Pointers that a message names. */
const MOST_NAMED = 3;

/** A model, and whether it is one of texts. */
interface OpenedModel {
  readonly model: Model | PartsModel;
  readonly takesTexts: boolean;
}

/** Loads a model, and adds what all drivers need: see {@link hostModel}. */
export async function loadHostedModel(source: LoadSource, log: Logger): Promise<ModelHandle> {
  const { driver, path, preprocess = decodeImageInputs, turns, mark, foreignName } = source;
  const started = performance.now();
  const options = expandAliases(driver.options, source.options);
  const asked = parseHostOptions(options, driver);
  const { model, takesTexts } = await openModel(source, asked, log);
  const signatures = Object.values(model.signatures);
  const isImplied = takesTexts && options.max_batch_size === undefined;
  const batching = isImplied ? impliedBatching(signatures) : asked.batching && withinBounds(asked.batching, signatures);
  const choices = { ...asked, ...(batching && { batching }) };
  const example = await readMlflowExample(path);
  const loadMs = performance.now() - started;
  log.debug("model loaded", { driver: driver.name, path, ms: Math.round(loadMs) });
  const foreign = foreignName === undefined ? undefined : { driver: driver.name, model: foreignName };
  const facts = { driver: driver.name, path, loadMs, log, choices, preprocess, turns, mark, example, foreign };
  return hostModel(model, facts);
}

async function openModel(
  source: LoadSource,
  { batching, flexibleBatch: flexible, texts }: HostChoices,
  log: Logger,
): Promise<OpenedModel> {
  const loaded = await load(source, log);
  if (source.foreignName !== undefined) assertModel(loaded, source.driver.name);
  try {
    if (batching !== undefined) answeringOnce(loaded, source.driver);
    const own = answersOnce(loaded) ? await takingTexts(loaded, source, { texts, log }) : loaded;
    // A model of texts runs in its fixed size by itself.
    const model = flexible && own === loaded ? flexibleBatch(answeringOnce(loaded, source.driver)) : own;
    if (batching !== undefined) Object.values(model.signatures).forEach(assertBatchable);
    return { model, takesTexts: own !== loaded };
  } catch (reason) {
    await loaded.close();
    throw reason;
  }
}

/** Unless the option says no: then the log says that it could. The code is loaded with the first such model. */
async function takingTexts(
  model: Model,
  { path }: LoadSource,
  { texts, log }: Pick<HostChoices, "texts"> & { log: Logger },
): Promise<Model> {
  if (texts.wish !== "true" && tokenizerFolder(path) === undefined) return model;
  const { hintTexts, withTexts } = await import("./texts/text-model.ts");
  if (texts.wish !== "false") return withTexts(model, { path, choices: texts, log });
  await hintTexts(model, path, log);
  return model;
}

function answersOnce(model: Model | PartsModel): model is Model {
  return model.predictStream === undefined;
}

/** The parts of one request would have to be told from those of others, and of other rows. */
function answeringOnce(model: Model | PartsModel, { name }: Driver): Model {
  if (answersOnce(model)) return model;
  throw failedPrecondition(
    `The ${name} model answers in parts, so that its requests cannot be put together or cut; leave out max_batch_size and flexible_batch_size.`,
  );
}

async function load({ driver, path, options, ...place }: LoadSource, log: Logger): Promise<Model | PartsModel> {
  const parsed = parseOptions(driver.options, options);
  const { threads, copies, poolCalls, hookFolder, signal, reportStuck } = place;
  try {
    return await driver.load(path, parsed, {
      log,
      threads,
      ...(copies !== undefined && { copies }),
      ...(poolCalls !== undefined && { poolCalls }),
      ...(hookFolder !== undefined && { hookFolder }),
      ...(signal !== undefined && { signal }),
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

/**
 * Makes a model with a fixed first dimension take any number of rows: it runs once per so many rows, and the outputs
 * are put together. Throws `failed_precondition` for a model whose inputs have no fixed first dimension in common.
 */
export function flexibleBatch(model: Model): Model {
  const sizes = new Map(Object.entries(model.signatures).map(([name, signature]) => [name, batchSize(signature)]));
  return {
    ...model,
    signatures: Object.fromEntries(Object.entries(model.signatures).map(([name, each]) => [name, anyRows(each)])),
    predict: (inputs, call) => predictInParts(model, inputs, call, sizes.get(call.signature)!),
    close: () => model.close(),
  };
}

function batchSize({ inputs = [] }: Signature): number {
  const first = inputs.map(({ shape }) => shape?.[0]);
  const [size] = first;
  if (typeof size === "number" && size > 0 && first.every((each) => each === size)) return size;
  throw failedPrecondition(
    `flexible_batch_size needs inputs with one fixed first dimension; these have ${first.map(String).join(", ")}. A model that takes any number of rows needs no such option.`,
  );
}

function anyRows(signature: Signature): Signature {
  const change = (specs: readonly TensorSpec[]) =>
    specs.map((spec) => (spec.shape === undefined ? spec : { ...spec, shape: withoutRows(spec.shape) }));
  const { inputs, outputs } = signature;
  return { ...signature, ...(inputs && { inputs: change(inputs) }), ...(outputs && { outputs: change(outputs) }) };
}

function withoutRows(shape: readonly Dimension[]): readonly Dimension[] {
  return shape.length === 0 ? shape : [-1, ...shape.slice(1)];
}

async function predictInParts(model: Model, inputs: Tensors, call: PredictCall, size: number): Promise<Tensors> {
  const rows = rowsOf(inputs, size);
  if (rows === size) return model.predict(inputs, call);
  const parts: Tensors[] = [];
  for (let start = 0; start < rows; start += size) {
    // A driver that blocks the thread would keep it from noticing that the request is over.
    if (start > 0) await new Promise(setImmediate);
    call.signal.throwIfAborted();
    const part = createTensors(
      Object.entries(inputs).map(([name, tensor]) => [name, sliceRows(tensor, start, start + size)]),
    );
    parts.push(checkedRows(await model.predict(part, call), size));
  }
  return joinParts(parts);
}

function rowsOf(inputs: Tensors, size: number): number {
  const entries = Object.entries(inputs);
  const rows = rowCount(entries[0]?.[1] as never) ?? 0;
  const wrong = entries.find(([, tensor]) => rowCount(tensor) !== rows);
  if (wrong !== undefined) {
    throw invalidArgument(`Input "${wrong[0]}" has ${wrong[1].shape[0]} rows, but "${entries[0]?.[0]}" has ${rows}.`);
  }
  if (rows > 0 && rows % size === 0) return rows;
  throw invalidArgument(
    `The inputs have ${rows} rows; expected one or more times ${size}, which the model takes at once.`,
  );
}
