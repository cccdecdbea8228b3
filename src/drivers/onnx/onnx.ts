import { failedPrecondition, reasonText, type ServingError } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import { findLibrary, lookedIn, missingRuntime } from "../../storage/runtimes/find-library.ts";
import { onnx, onnxCuda } from "../../storage/runtimes/native-runtimes.ts";
import { type FoundOnnx, findOnnx, libraryOf, ONNX_PLACES } from "../../storage/runtimes/onnx.ts";
import { labelClasses } from "../../tensor/signature/describe-tensors.ts";
import { DEFAULT_SIGNATURE, type TensorSpec } from "../../tensor/signature/signature.ts";
import { createTensors, type Tensors } from "../../tensor/tensor.ts";
import { type DriverHost, defineDriver, type Model, type PredictCall, type QuickModel } from "../driver.ts";
import { BOOLEANS } from "../option-table.ts";
import { shapesByName } from "../shapes-by-name.ts";
import { toDType, typeOf } from "./element-types.ts";
import type { OnnxEngine, OnnxPort } from "./engine.ts";
import { type DeclaredValue, type ModelFile, readModelFile } from "./model-file.ts";
import { importOnnxRuntime } from "./onnx-runtime.ts";
import { createSessionHandle, loadOnnxSession, type OnnxSession } from "./onnx-session.ts";
import { carriedTensor, describeType, findUncarried } from "./onnx-value.ts";
import { type EngineName, logLevelOf, ONNX_OPTIONS, type OnnxOptions } from "./session-options.ts";
import { scoresSpec, withScores } from "./zip-map.ts";

/** Runs `.onnx` and `.ort` models with ONNX Runtime, which is loaded with the first model. */
export default defineDriver<OnnxOptions>({
  name: "onnx",
  options: ONNX_OPTIONS,
  sharesThread: true,
  // It then sends nothing, and writes nothing to the user's home.
  environment: { ORT_DISABLE_TELEMETRY: "1" },
  detect: (path) => /\.(onnx|ort)$/i.test(path),
  loadQuick,
  load: async (path, options, host) => {
    const file = withCustomOps(readModelFile(path), options);
    const engine = await openEngine(options, host.log);
    if (file !== undefined) checkDeclaredTypes(file, engine.name);
    const threads = options.intra_op_threads || host.threads;
    const session = await loadOnnxSession(engine, path, {
      options: { ...options, intra_op_threads: threads },
      host,
      hasBoundedRuns: file?.hasBoundedRuns ?? false,
      defaults: file?.defaults ?? createTensors(),
    });
    try {
      const where = engine.device === undefined ? "" : ` on ${engine.device}`;
      const runtime = `ONNX Runtime ${engine.version} of ${engine.source}${where}`;
      return { ...createModel(session, file, host), runtime, isSteady: isSteady(file, options) };
    } catch (reason) {
      await session.close();
      throw reason;
    }
  },
});

/**
 * Checks that a copy of the model may run in the main thread: it would have the
 * weights on a GPU twice, and wait there for others' work.
 */
function isSteady(file: ModelFile | undefined, { runtime_backend }: OnnxOptions): boolean {
  return runtime_backend === "CPU" && (file?.hasBoundedRuns ?? false);
}

/** The model file, without bounds for its runs if operators are custom: nothing is known of them. */
function withCustomOps(file: ModelFile | undefined, { custom_op_paths }: OnnxOptions): ModelFile | undefined {
  return file && custom_op_paths !== undefined ? { ...file, hasBoundedRuns: false } : file;
}

/** With one thread, since the other threads of a run would have to be woken up. */
async function loadQuick(path: string, options: OnnxOptions, host: DriverHost): Promise<QuickModel> {
  const engine = await openEngine(options, host.log);
  const single = { ...options, intra_op_threads: 1, inter_op_threads: 1 };
  const session = await loadOnnxSession(engine, path, {
    ...{ options: single, host },
    hasBoundedRuns: true,
    needsGuards: true,
    defaults: createTensors(),
  });
  if (session.canRunNow) return { run: (inputs) => session.runNow(inputs), close: () => session.close() };
  await session.close();
  throw failedPrecondition(
    `Runs of the engine ${engine.name} wait for a turn of the event loop, or give what no request carries.`,
  );
}

function withDefault(spec: TensorSpec, file: ModelFile | undefined): TensorSpec {
  const value = file?.defaults[spec.name];
  return value === undefined ? spec : { ...spec, default: value };
}

/** Runs one at a time: a run blocks its thread, or its session. */
function createModel(session: OnnxSession, file: ModelFile | undefined, { log }: DriverHost): Model {
  const inputs = toTensorSpecs("Input", session.inputs, file?.inputs).map((spec) => withDefault(spec, file));
  const outputs = toTensorSpecs("Output", session.outputs, file?.outputs);
  const isOffered = (name: string) => inputs.some((input) => input.name === name);
  const fixed = file?.inputs.map(({ name }) => name).filter((name) => file.initializers.has(name) && !isOffered(name));
  if (fixed?.length) log.info("inputs with values in the model cannot be given in requests", { inputs: fixed });
  const metadata = session.metadata ?? file?.metadata ?? {};
  const signatures = { [DEFAULT_SIGNATURE]: { inputs, outputs } };
  const labels = modelLabels(metadata);
  return {
    signatures: labels === undefined ? signatures : labelClasses(signatures, labels),
    isPure: true,
    keepsThread: true,
    hookArgs: {
      session: createSessionHandle(session, metadata, file?.defaults),
      model_inputs: shapesByName(inputs),
      model_outputs: session.outputs.map(({ name }) => name),
    },
    predict: createPredict(session, outputs, log),
    close: () => session.close(),
  };
}

/** An element of a Python list, `'person'`, or a member of a dict, `0: 'person'`. */
const ELEMENT = /(?:(\d{1,9}): )?(?:'((?:[^'\\]|\\.)*)(?:'|$)|"((?:[^"\\]|\\.)*)(?:"|$))/g;

/**
 * The names of a model's classes that its exporter noted: `labels`, separated by commas, or `names`, the list or dict
 * that Ultralytics writes (https://docs.ultralytics.com/modes/export); undefined if there are none.
 */
export function modelLabels({ labels, names }: Readonly<Record<string, string>>): readonly string[] | undefined {
  if (labels !== undefined) return labels.split(",").map((label) => label.trim());
  const elements = [...(names ?? "").matchAll(ELEMENT)];
  const isInOrder = elements.every(([, index], place) => index === undefined || Number(index) === place);
  if (elements.length === 0 || !isInOrder) return undefined;
  return elements.map(([, , single, double]) => (single ?? double ?? "").replace(/\\(.)/g, "$1"));
}

/** Element type of a tensor whose declaration leaves it out. */
const INFERRED = 0;
const NONE = { dtype: undefined, shape: [] };
const CONVERTED = "cast or convert it in the model.";
/** Converters of classifiers write such outputs unless asked not to. */
const WITHOUT_ZIPMAP =
  'convert the classifier again, with options={"zipmap": False} in skl2onnx, or with zipmap=False in onnxmltools.';

/**
 * Throws `failed_precondition` naming the first input or output that cannot be
 * carried, before the runtime loads anything.
 */
function checkDeclaredTypes(file: ModelFile, engine: EngineName): void {
  for (const value of requiredInputs(file)) checkDeclared("Input", value, engine);
  for (const value of file.outputs) checkDeclared("Output", value, engine);
  if (engine === "node" && file.outputs.some(({ name }) => name === "__proto__")) {
    throw failedPrecondition(
      'Output "__proto__" cannot be returned by ONNX Runtime\'s JavaScript API; rename it in the model.',
    );
  }
}

function requiredInputs({ inputs, initializers }: ModelFile): readonly DeclaredValue[] {
  return inputs.filter(({ name }) => !initializers.has(name));
}

function checkDeclared(role: string, { name, kind, elementType }: DeclaredValue, engine: EngineName): void {
  if (kind === "unknown" || (engine === "native" && kind !== "tensor")) return;
  if (kind === "sequence of maps" && role === "Output") throw notCarried(role, name, `a ${kind}`, WITHOUT_ZIPMAP);
  if (kind !== "tensor") throw notCarried(role, name, `${/^o/.test(kind) ? "an" : "a"} ${kind}`);
  if (elementType === INFERRED) return;
  const type = typeOf(elementType);
  if (toDType(type) === undefined || (engine === "node" && type === "bfloat16")) throw notCarried(role, name, type);
}

/**
 * The specs of the inputs or outputs that requests carry, which are tensors; the file distinguishes a scalar from an
 * unknown rank. Throws `failed_precondition` for elements that nothing carries.
 */
function toTensorSpecs(
  role: "Input" | "Output",
  ports: readonly OnnxPort[],
  declared: readonly DeclaredValue[] = [],
): TensorSpec[] {
  for (const { name, type } of ports) {
    const uncarried = findUncarried(type);
    if (uncarried !== undefined) throw notCarried(role, name, uncarried);
  }
  return ports.flatMap((port) => {
    const { name, type } = port;
    const scores = role === "Output" ? scoresSpec(port, labelsOf(declared, name)) : undefined;
    if (scores !== undefined) return [scores];
    const { dtype, shape } = carriedTensor(role, type) ?? NONE;
    if (dtype === undefined) return [];
    const rankIsKnown = shape.length > 0 || declared.some((one) => one.name === name && one.hasShape);
    if (!rankIsKnown) return [{ name, dtype }];
    return [{ name, dtype, shape: shape.map((dimension) => (typeof dimension === "number" ? dimension : -1)) }];
  });
}

function labelsOf(declared: readonly DeclaredValue[], output: string): readonly string[] | undefined {
  return declared.find(({ name }) => name === output)?.labels;
}

function notCarried(role: string, name: string, what: string, advice = CONVERTED): ServingError {
  return failedPrecondition(`${role} "${name}" is ${what}, which is not carried; ${advice}`);
}

const FOR_HOOKS = "requests carry tensors alone; hooks give and get the model's other values by args.session.run";

/**
 * Creates the function that answers requests: with the outputs that are tensors, or maps of scores, if
 * all inputs are tensors. The log has what requests do not carry.
 */
function createPredict(session: OnnxSession, specs: readonly TensorSpec[], log: Logger): Model["predict"] {
  const inputs = session.inputs.filter(({ type }) => carriedTensor("Input", type) === undefined);
  const maps = session.outputs.filter(({ type }) => carriedTensor("Output", type) === undefined);
  const scores = specs.filter(({ name }) => maps.some((port) => port.name === name));
  const outputs = maps.filter((port) => !scores.some(({ name }) => name === port.name));
  const others = [...inputs, ...outputs];
  if (others.length > 0) log.warn(FOR_HOOKS, { values: others.map(describePort) });
  const [culprit] = outputs.length < session.outputs.length ? inputs : others;
  if (culprit !== undefined) {
    const message = `${describePort(culprit)}, which no request carries; a hook can run the model by args.session.run.`;
    return () => Promise.reject(failedPrecondition(message));
  }
  const runPlain = (inputs: Tensors, call: PredictCall) => session.run(inputs, call) as Promise<Tensors>;
  const runMaps: typeof runPlain = async (inputs, call) => withScores(await session.run(inputs, call), scores);
  const run = scores.length === 0 ? runPlain : runMaps;
  if (outputs.length === 0) return run;
  const carried = session.outputs.filter((port) => !outputs.includes(port)).map(({ name }) => name);
  return (inputs, call) => run(inputs, { ...call, outputs: call.outputs ?? carried, signal: call.signal });
}

function describePort({ name, type }: OnnxPort): string {
  return `"${name}" is ${describeType(type)}`;
}

/**
 * Opens the engine that the options ask for: `auto` is the C API if a library can be called and the CPU or CUDA
 * computes, else the JavaScript API. Throws `failed_precondition` with the way to install ONNX Runtime if there is
 * none, and with what CUDA lacks.
 */
export async function openEngine(
  options: OnnxOptions,
  log: Logger,
  copies: readonly FoundOnnx[] = findOnnx(),
): Promise<OnnxEngine> {
  const isAuto = options.engine === "auto";
  if (options.engine !== "node" && isForCuda(options.runtime_backend)) return openOnCuda(options);
  if (options.engine === "node" || (isAuto && options.runtime_backend !== "CPU")) return openNode(copies);
  try {
    return await openNative(copies, options);
  } catch (reason) {
    if (!isAuto || copies.length === 0) throw reason;
    const engine = await openNode(copies);
    log.warn(`ONNX Runtime is called by its JavaScript API, which cannot end a run: ${reasonText(reason)}`);
    return engine;
  }
}

/** Takes the first copy whose library can be called. */
async function openNative(copies: readonly FoundOnnx[], options: OnnxOptions): Promise<OnnxEngine> {
  const { openNativeEngine } = await import("./native/native-engine.ts");
  const failures: unknown[] = [];
  for (const copy of copies) {
    try {
      return openNativeEngine({ ...copy, library: libraryOf(copy.path) }, logLevelOf(options));
    } catch (reason) {
      failures.push(reason);
    }
  }
  throw failures[0] ?? missingRuntime({ ...onnx, looked: ONNX_PLACES });
}

/** On other systems GPU is DirectML or CoreML, which the JavaScript API has. */
function isForCuda(backend: OnnxOptions["runtime_backend"]): boolean {
  return ["CUDA", "TENSORRT"].includes(backend) || (backend === "GPU" && process.platform === "linux");
}

async function openOnCuda(options: OnnxOptions): Promise<OnnxEngine> {
  const found = findLibrary(onnxCuda);
  if (found === undefined) {
    throw missingRuntime({ ...onnxCuda, name: onnxCuda.install, looked: lookedIn(onnxCuda) });
  }
  const { openNativeEngine } = await import("./native/native-engine.ts");
  const { openCuda } = await import("../../storage/runtimes/cuda.ts");
  const { gpus } = openCuda(found.path, { cudnn: usesCudnn(options) });
  const { device_id: id } = options;
  const device = gpus[id];
  if (device !== undefined)
    return openNativeEngine({ library: found.path, source: found.source, device }, logLevelOf(options));
  throw failedPrecondition(`device_id is ${id}; the last GPU here is ${gpus.length - 1} (${gpus.at(-1)}).`);
}

function usesCudnn({ ep }: OnnxOptions): boolean {
  return BOOLEANS.get(ep.enable_cudnn?.toLowerCase() ?? "") !== false;
}

async function openNode(copies: readonly FoundOnnx[]): Promise<OnnxEngine> {
  const { createNodeEngine } = await import("./node/node-engine.ts");
  return createNodeEngine(await importOnnxRuntime(copies));
}
