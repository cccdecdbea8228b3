import { failedPrecondition } from "../../errors.ts";
import { labelClasses } from "../../signature/label-classes.ts";
import { DEFAULT_SIGNATURE, type TensorSpec } from "../../signature/signature.ts";
import { createTensors } from "../../tensor/tensor.ts";
import { type DriverHost, defineDriver, type Model, type QuickModel } from "../driver.ts";
import { shapesByName } from "../shapes-by-name.ts";
import { createPredict } from "./create-predict.ts";
import { type ModelFile, readModelFile } from "./model-file.ts";
import { modelLabels } from "./model-labels.ts";
import { loadOnnxSession, type OnnxSession } from "./onnx-session.ts";
import { checkDeclaredTypes, toTensorSpecs } from "./onnx-spec.ts";
import { openEngine } from "./open-engine.ts";
import { createSessionHandle } from "./session-handle.ts";
import { ONNX_OPTIONS, type OnnxOptions } from "./session-options.ts";

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

/** The model file, without bounds for its runs where operators are custom: nothing is known of them. */
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
    hookArgs: {
      session: createSessionHandle(session, metadata, file?.defaults),
      model_inputs: shapesByName(inputs),
      model_outputs: session.outputs.map(({ name }) => name),
    },
    predict: createPredict(session, log),
    close: () => session.close(),
  };
}
