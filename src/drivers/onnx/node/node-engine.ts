import type { InferenceSession, Tensor as OrtTensor } from "onnxruntime-node";
import { failedPrecondition, invalidArgument } from "../../../errors.ts";
import type { NumericData } from "../../../tensor/dtype.ts";
import { createRecord } from "../../../tensor/record.ts";
import { createTensor, createTensors, type Tensor, type Tensors } from "../../../tensor/tensor.ts";
import type { PredictCall } from "../../driver.ts";
import { toDType } from "../element-types.ts";
import type { EngineSession, OnnxEngine, OnnxPort } from "../engine.ts";
import type { LoadedOnnx, OnnxRuntime } from "../onnx-runtime.ts";
import { assertTexts, type OnnxValues } from "../onnx-value.ts";
import { findProvider, toSessionOptions } from "../session-options.ts";

const NO_CUSTOM_OPS =
  "custom_op_paths is for the engine native, which runs models on the CPU and with CUDA; leave -o engine out.";

/** ONNX Runtime by onnxruntime-node's JavaScript API. */
export function createNodeEngine(runtime: LoadedOnnx): OnnxEngine {
  const { api, source } = runtime;
  const { env, InferenceSession, listSupportedBackends } = api;
  const providers = listSupportedBackends().map(({ name }) => name);
  return {
    name: "node",
    version: env.versions.node ?? env.versions.common,
    source,
    providers,
    load: async (path, { options, bytes }) => {
      if (options.custom_op_paths !== undefined) throw failedPrecondition(NO_CUSTOM_OPS);
      const executionProviders = [findProvider(providers, options)];
      const sessionOptions = { ...toSessionOptions(options), executionProviders };
      env.logLevel = options.ort_log_level;
      const create = (model: string) => InferenceSession.create(model, sessionOptions);
      // The two overloads are not one for the compiler.
      return new NodeSession(api, await create((bytes ?? path) as string));
    },
  };
}

/** A session of onnxruntime-node. A run blocks the thread, and cannot be ended. */
class NodeSession implements EngineSession {
  readonly inputs: readonly OnnxPort[];
  readonly outputs: readonly OnnxPort[];
  readonly #runtime: OnnxRuntime;
  readonly #session: InferenceSession;
  /** The runtime's binding takes the inherited members of its table of wanted outputs for outputs that are given. */
  readonly #canChoose: boolean;

  /** Takes over the session. */
  constructor(runtime: OnnxRuntime, session: InferenceSession) {
    this.#runtime = runtime;
    this.#session = session;
    this.inputs = session.inputMetadata.map(toPort);
    this.outputs = session.outputMetadata.map(toPort);
    this.#canChoose = !session.outputNames.some((name) => name in Object.prototype);
  }

  async run(inputs: OnnxValues, { outputs, signal }: Partial<PredictCall>): Promise<Tensors> {
    if (signal?.aborted) throw signal.reason;
    const feeds = createRecord<OrtTensor>();
    for (const [name, tensor] of Object.entries(inputs))
      feeds[name] = toOnnxTensor(this.#runtime, name, tensor as Tensor);
    const results = await this.#run(feeds, outputs);
    const wanted = Object.entries(results).filter(([name]) => outputs?.includes(name) ?? true);
    return createTensors(wanted.map(([name, tensor]) => [name, fromOnnxTensor(tensor as OrtTensor)]));
  }

  async close(): Promise<void> {
    await this.#session.release();
  }

  #run(feeds: Record<string, OrtTensor>, outputs: readonly string[] | undefined): Promise<InferenceSession.ReturnType> {
    const chooses = outputs !== undefined && outputs.length > 0 && this.#canChoose;
    return chooses ? this.#session.run(feeds, outputs) : this.#session.run(feeds);
  }
}

function toPort(value: InferenceSession.ValueMetadata): OnnxPort {
  const { name } = value;
  if (!value.isTensor) return { name, type: { kind: "not a tensor" } };
  return { name, type: { kind: "tensor", element: value.type, dtype: toDType(value.type), shape: value.shape } };
}

// A byte order mark is the client's text too.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const encoder = new TextEncoder();

/**
 * A tensor of a dtype that a model takes, viewing the same numbers; throws
 * `invalid_argument` naming the input for bytes that are not text.
 */
function toOnnxTensor(runtime: OnnxRuntime, name: string, tensor: Tensor): OrtTensor {
  const dims = [...tensor.shape];
  if (tensor.dtype === "bytes") return new runtime.Tensor("string", toTexts(name, tensor.data), dims);
  return new runtime.Tensor(tensor.dtype as "float32", unshared(tensor.data) as Float32Array, dims);
}

/**
 * A tensor of our own from one that a run gave; its numbers are not copied: ONNX Runtime makes new ones for each run.
 */
function fromOnnxTensor(tensor: OrtTensor): Tensor {
  const { type, data, dims } = tensor;
  if (type === "string")
    return createTensor(
      "bytes",
      dims,
      (data as string[]).map((text) => encoder.encode(text)),
    );
  return createTensor(
    type as "float32",
    dims,
    (type === "float16" ? toBits(data as NumericData) : data) as Float32Array,
  );
}

/** The runtime refuses memory that threads share. */
function unshared(data: NumericData): NumericData {
  return data.buffer instanceof SharedArrayBuffer ? data.slice() : data;
}

/** From Node 24 on the runtime gives a Float16Array. */
function toBits(data: NumericData): Uint16Array {
  return new Uint16Array(data.buffer, data.byteOffset, data.length);
}

function toTexts(name: string, elements: readonly Uint8Array[]): string[] {
  assertTexts(name, elements);
  const cut = elements.findIndex((element) => element.includes(0));
  if (cut !== -1) throw endsAtZero(name, cut);
  return elements.map((element) => decoder.decode(element));
}

function endsAtZero(name: string, element: number) {
  return invalidArgument(
    `Input "${name}" has a zero byte in element ${element}, at which ONNX Runtime's JavaScript API ends a text; give it to a server with -o engine=native.`,
  );
}
