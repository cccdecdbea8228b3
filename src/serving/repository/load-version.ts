import { existsSync } from "node:fs";
import { access } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { RawOptions } from "../../drivers/option-table.ts";
import { failedPrecondition, invalidArgument } from "../../errors.ts";
import type { AnyHooks } from "../../hooks/hooks.ts";
import type { ModelFacts } from "../../models/model-facts.ts";
import type { Logger } from "../../observability/logger.ts";
import {
  type Ensemble,
  type EnsembleStep,
  ensembleHooks,
  refusedParts,
  reshapeHooks,
} from "../../pipeline/implied-hooks.ts";
import { unlessAborted } from "../../platform/async/cancel-source.ts";
import { readProblem } from "../../platform/text/file-problem.ts";
import { withRegularFile } from "../../storage/open-regular-file.ts";
import type { OutputLabels, TensorFacts } from "../../tensor/signature/describe-tensors.ts";
import type { Dimension, TensorSpec } from "../../tensor/signature/signature.ts";
import type { Servable } from "../servable.ts";
import { assertMayRun } from "./archive-hooks.ts";
import type { ModelConfig } from "./config/model-config.ts";
import { CleanupStack, fetchPath } from "./fetch-source.ts";
import { findHooks } from "./folders/list-folder.ts";
import type { FoundVersion } from "./folders/list-versions.ts";
import { hostStage } from "./host-served.ts";
import { type LoadedServable, type LoadOptions, loadServable } from "./load-servable.ts";
import type { StageOptions } from "./stage.ts";

/** One version of a model, to be loaded. */
interface WantedVersion {
  readonly config: ModelConfig;
  readonly found: FoundVersion;
  readonly signal: AbortSignal;
}

/**
 * Loads one version with its model's configuration. Rejects when the signal aborts, and frees what it has loaded as
 * soon as possible.
 */
export async function loadVersion({ config, found, signal }: WantedVersion, options: LoadOptions): Promise<Servable> {
  const loading = load(config, found, { ...ownOptions(config, options), signal });
  const { servable, models } = await unlessGivenUp(loading, signal);
  try {
    assertExpected(config, models);
    assertEnsemble(config, models);
    assertPolicy(config, servable);
    return servable;
  } catch (reason) {
    await servable.close();
    throw reason;
  }
}

async function load(config: ModelConfig, { version, path: place }: FoundVersion, settings: LoadOptions) {
  const { versionBatching = false, log } = settings;
  const cleanup = new CleanupStack();
  const path = await fetchPath(place, settings, cleanup);
  const check = (file: string) => assertMayRun(file, { ...config, place }, settings.archiveHooks);
  const hooks = config.ensemble
    ? await hooksOfSteps(config.name, config.ensemble, settings)
    : await hooksOf(config, path, check);
  // A version whose folder went meanwhile has not lost its hooks: it must not answer without them.
  if (place !== (config.path ?? "")) await assertThere(path);
  const { name, options: own, warmUp, imageLayouts: layouts, configured } = config;
  const options = { ...own, ...(versionBatching && (await readVersionBatching(path, log))) };
  const shapes = hooks === undefined ? shapesOf(config) : {};
  const tensorFacts = { labels: await readOutputLabels(config), ...(layouts && { layouts }), ...shapes };
  const source = { name, version, stages: stagesOf(config, path), options, warmUp, tensorFacts };
  const more = { ...(configured && { configured }), ...(hooks !== undefined && { hooks }) };
  return loadServable({ ...source, ...more }, settings, cleanup);
}

async function assertThere(path: string): Promise<void> {
  await access(path).catch((reason) => {
    throw failedPrecondition(`The version "${path}" ${readProblem(reason)}; expected its files.`, reason);
  });
}

/** The shapes that its configuration narrows those of the model to. */
function shapesOf({ expected }: ModelConfig): Pick<TensorFacts, "inputShapes" | "outputShapes"> {
  if (expected === undefined) return {};
  const toMap = (specs: readonly TensorSpec[]) =>
    new Map(specs.flatMap(({ name, shape }) => (shape === undefined ? [] : [[name, shape] as const])));
  return { inputShapes: toMap(expected.inputs), outputShapes: toMap(expected.outputs) };
}

/** The hooks of the version's folder, else those of its model. */
async function hooksOf(
  { hooks, reshaping }: ModelConfig,
  path: string,
  check: (file: string) => void,
): Promise<string | AnyHooks | undefined> {
  const own = await findHooks(path);
  if (own !== undefined) check(own);
  return own ?? hooks ?? (reshaping && reshapeHooks(reshaping));
}

/** The hooks of an ensemble, which answers in parts if one of its models does. */
async function hooksOfSteps(name: string, ensemble: Ensemble, { own }: LoadOptions): Promise<AnyHooks> {
  const hosts = await Promise.all(ensemble.steps.map((step) => hostStage(own, step)));
  const inParts = hosts.map(({ facts }) => facts.decoupled === true);
  const refusal = refusedParts(ensemble, inParts);
  if (refusal !== undefined) throw failedPrecondition(`The ensemble ${name} ${refusal}.`);
  return ensembleHooks(ensemble, inParts);
}

/** The model's own settings override the server's. */
function ownOptions({ name, workers, instances, isolate, threads }: ModelConfig, options: LoadOptions): LoadOptions {
  return {
    ...options,
    log: options.log.child({ model: name }),
    ...(workers !== undefined && { workers }),
    ...(instances !== undefined && { instances }),
    ...(isolate !== undefined && { isolate }),
    ...(threads !== undefined && { threads }),
  };
}

/** A stage's path is relative to the version's folder, if there is one. */
function stagesOf({ stages, driver, file }: ModelConfig, folder: string): StageOptions[] {
  if (stages === undefined)
    return [{ path: file === undefined ? folder : join(folder, file), ...(driver !== undefined && { driver }) }];
  return stages.map(({ path, ...stage }) => ({ ...stage, ...(path !== undefined && { path: resolve(folder, path) }) }));
}

/** A load in native code cannot be stopped: it continues without a caller, and its result is freed. */
async function unlessGivenUp(loading: Promise<LoadedServable>, signal: AbortSignal): Promise<LoadedServable> {
  try {
    return await unlessAborted(loading, signal);
  } catch (reason) {
    loading.then(({ servable }) => servable.close()).catch(() => {});
    throw reason;
  }
}

/** Maximum size of a file of labels, in bytes. */
const MAX_LABEL_BYTES = 16 * 1024 * 1024;

/** Reads the files with the names of a model's classes; throws `failed_precondition` for one that cannot be read. */
async function readOutputLabels({ labelFiles = new Map() }: ModelConfig): Promise<OutputLabels> {
  const labels = new Map<string, readonly string[]>();
  for (const [output, path] of labelFiles) labels.set(output, await readLabels(path));
  return labels;
}

/** A label on each line; an empty line is a class without a name. */
function readLabels(path: string): Promise<readonly string[]> {
  const what = `The file of labels "${path}"`;
  return withRegularFile(path, what, async ({ file, size }) => {
    if (size > MAX_LABEL_BYTES)
      throw failedPrecondition(`${what} has ${size} bytes; expected ${MAX_LABEL_BYTES} at most.`);
    const lines = (await file.readFile("utf8")).split(/\r?\n/);
    return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
  });
}

/** TensorFlow Serving's name of the file. */
const BATCHING_FILE = "batching_params.pbtxt";

/**
 * The `-o` options of the batching file in a version's folder; none if there is no
 * such file. Throws as `readConfigFile` does.
 */
export async function readVersionBatching(folder: string, log: Logger): Promise<RawOptions> {
  const path = join(folder, BATCHING_FILE);
  if (!existsSync(path)) return {};
  // Nearly no version has one.
  const { readConfigFile } = await import("./config/read-config-file.ts");
  const { batching, format, warnings } = await readConfigFile(path, []);
  for (const warning of warnings) log.warn(warning);
  if (batching !== undefined) return batching;
  throw invalidArgument(`${path} is ${format}; expected parameters of batching, such as max_batch_size { value: 32 }.`);
}

/**
 * Compares the tensors that a configuration describes with those of the loaded model: inputs of the first stage,
 * outputs of the last. Throws `failed_precondition` with the tensor, the model's spec and the expected one. Tensors
 * that a model does not describe are not compared.
 */
function assertExpected({ name, expected }: ModelConfig, models: readonly ModelFacts[]): void {
  if (expected === undefined) return;
  const [first, last] = [models[0], models.at(-1)];
  assertTensors(`input of ${name}`, expected.inputs, first?.signatures[first.defaultSignature]?.inputs);
  assertTensors(`output of ${name}`, expected.outputs, last?.signatures[last.defaultSignature]?.outputs);
}

function assertTensors(what: string, expected: readonly TensorSpec[], found: readonly TensorSpec[] | undefined): void {
  if (found === undefined) return;
  for (const spec of expected) {
    const same = found.find(({ name }) => name === spec.name);
    if (same === undefined) {
      const names = found.map(({ name }) => name).join(", ");
      throw failedPrecondition(
        `The configuration has "${spec.name}" as an ${what}, which the model has not; expected some of ${names}.`,
      );
    }
    if (!isCompatibleSpec(spec, same))
      throw failedPrecondition(
        `The ${what} "${spec.name}" is ${specText(same)}, but its configuration expects ${specText(spec)}.`,
      );
  }
}

/** Clients of a model that is not decoupled wait for one answer. */
function assertPolicy({ name, ensemble, configured }: ModelConfig, { description }: Servable): void {
  if (ensemble !== undefined || configured?.decoupled !== false || description.decoupled !== true) return;
  throw failedPrecondition(
    `The configuration of ${name} says that it is not decoupled, but its ${description.hooks?.decoupled === true ? "hooks answer" : "model answers"} in parts; write model_transaction_policy { decoupled: true }, or leave it out.`,
  );
}

/** Tensors of an ensemble, by name, as their sources describe them. */
type Sources = Map<string, TensorSpec>;

/**
 * Compares the steps of an ensemble with their loaded models: the names, types and sizes of the tensors that they pass
 * on. Throws `failed_precondition` with the step, the tensor and the model's own spec. Tensors that a model does not
 * describe are not compared.
 */
function assertEnsemble({ name, ensemble }: ModelConfig, models: readonly ModelFacts[]): void {
  if (ensemble === undefined) return;
  const sources: Sources = new Map(ensemble.inputs.map((spec) => [spec.name, spec]));
  for (const [index, step] of ensemble.steps.entries())
    assertStep(step, models[index], { sources, title: `the model ${step.model} of the ensemble ${name}` });
  for (const spec of ensemble.outputs) {
    const made = sources.get(spec.name) ?? spec;
    if (!isCompatibleSpec(spec, made))
      throw failedPrecondition(
        `The output "${spec.name}" of the ensemble ${name} is ${specText(spec)}, but it is made as ${specText(made)}.`,
      );
  }
}

interface Place {
  readonly sources: Sources;
  /** The name of a step in messages. */
  readonly title: string;
}

function assertStep({ inputs, outputs }: EnsembleStep, facts: ModelFacts | undefined, { sources, title }: Place): void {
  const signature = facts?.signatures[facts.defaultSignature] ?? {};
  const left = signature.inputs?.find((spec) => inputs[spec.name] === undefined && spec.default === undefined);
  if (left !== undefined)
    throw failedPrecondition(`The input "${left.name}" of ${title} is mapped to no tensor; add it to input_map.`);
  for (const [own, tensor] of Object.entries(inputs)) {
    const spec = specOf(own, signature.inputs, `input of ${title}`);
    const given = sources.get(tensor);
    if (spec === undefined || given === undefined || isCompatibleSpec(given, convertible(spec, given))) continue;
    throw failedPrecondition(
      `"${tensor}" is ${specText(given)}, but the input "${own}" of ${title} takes ${specText(spec)}; the batch counts where max_batch_size is over 0.`,
    );
  }
  for (const [own, tensor] of Object.entries(outputs)) {
    const spec = specOf(own, signature.outputs, `output of ${title}`);
    if (spec !== undefined) sources.set(tensor, spec);
  }
}

/** Converted inputs take numbers of any type. */
function convertible(spec: TensorSpec, { dtype }: TensorSpec): TensorSpec {
  return spec.convertsNumbers === true ? { ...spec, dtype } : spec;
}

/** Undefined if the model does not describe its tensors. */
function specOf(own: string, specs: readonly TensorSpec[] | undefined, what: string): TensorSpec | undefined {
  const spec = specs?.find(({ name }) => name === own);
  if (spec !== undefined || specs === undefined) return spec;
  const names = specs.map(({ name }) => name).join(", ");
  throw failedPrecondition(`There is no "${own}", which is to be an ${what}; expected some of ${names}.`);
}

/** Checks that a configured tensor and a model's tensor have the same type and compatible sizes. */
function isCompatibleSpec(expected: TensorSpec, found: TensorSpec): boolean {
  if (expected.dtype !== found.dtype) return false;
  const { shape } = found;
  if (shape === undefined || expected.shape === undefined) return true;
  return shape.length === expected.shape.length && expected.shape.every((size, axis) => fits(size, shape[axis]!));
}

/** Sizes that are open on either side are compatible. */
function fits(expected: Dimension, found: Dimension): boolean {
  if (expected === -1 || found === -1 || typeof expected === "object") return true;
  if (typeof found === "object") return expected >= found.min && expected <= found.max;
  return expected === found;
}

/** A tensor's type and sizes in messages: `float32[-1,10]`. */
function specText({ dtype, shape }: TensorSpec): string {
  const sizes = shape?.map((size) => (typeof size === "object" ? `${size.min}..${size.max}` : String(size)));
  return sizes === undefined ? dtype : `${dtype}[${sizes.join(",")}]`;
}
