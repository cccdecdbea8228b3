import type { InferenceSession, Tensor as OrtTensor } from "onnxruntime-node";
import { failedPrecondition } from "../../errors.ts";
import { createTensors, type Tensors } from "../../tensor/tensor.ts";
import { type SymbolicShapes, toLoadError, toRunError } from "./onnx-error.ts";
import type { OnnxRuntime } from "./onnx-runtime.ts";
import { fromOnnxTensor, toOnnxTensor } from "./onnx-tensor.ts";
import { type OnnxOptions, toSessionOptions } from "./session-options.ts";

/** A loaded model of ONNX Runtime that takes and gives our tensors. */
export class OnnxSession {
  readonly #runtime: OnnxRuntime;
  readonly #session: InferenceSession;
  readonly #symbols: SymbolicShapes;
  /** The runtime's binding takes the inherited members of its table of wanted outputs for outputs that are given. */
  readonly #canChoose: boolean;
  #closed = false;

  /** Takes over the session: frees it in {@link close}. */
  constructor(runtime: OnnxRuntime, session: InferenceSession) {
    this.#runtime = runtime;
    this.#session = session;
    this.#symbols = new Map(this.inputMetadata.map((value) => [value.name, value.isTensor ? value.shape : []]));
    this.#canChoose = !session.outputNames.some((name) => name in Object.prototype);
  }

  /** The inputs that a run needs; inputs with values in the model are not among them. */
  get inputMetadata(): readonly InferenceSession.ValueMetadata[] {
    return this.#session.inputMetadata;
  }

  get outputMetadata(): readonly InferenceSession.ValueMetadata[] {
    return this.#session.outputMetadata;
  }

  /** Runs the model and blocks the thread meanwhile; gives the outputs named, or all. */
  async run(inputs: Tensors, outputs?: readonly string[]): Promise<Tensors> {
    if (this.#closed) throw failedPrecondition("The model is closed.");
    const feeds: Record<string, OrtTensor> = Object.create(null);
    for (const [name, tensor] of Object.entries(inputs)) feeds[name] = toOnnxTensor(this.#runtime, name, tensor);
    const results = await this.#run(feeds, outputs).catch((reason: unknown) => {
      throw toRunError(reason, inputs, this.#symbols);
    });
    const wanted = Object.entries(results).filter(([name]) => outputs?.includes(name) ?? true);
    return createTensors(wanted.map(([name, tensor]) => [name, fromOnnxTensor(tensor as OrtTensor)]));
  }

  /** Frees the model; runs fail from here on. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#session.release();
  }

  #run(feeds: Record<string, OrtTensor>, outputs: readonly string[] | undefined): Promise<InferenceSession.ReturnType> {
    const chooses = outputs !== undefined && outputs.length > 0 && this.#canChoose;
    return chooses ? this.#session.run(feeds, outputs) : this.#session.run(feeds);
  }
}

/** Loads a model by its path, so that data files next to it are found. Throws `failed_precondition` with the runtime's reason. */
export async function loadOnnxSession(runtime: OnnxRuntime, path: string, options: OnnxOptions): Promise<OnnxSession> {
  const offered = runtime.listSupportedBackends().map(({ name }) => name);
  const sessionOptions = toSessionOptions(offered, options);
  runtime.env.logLevel = options.ort_log_level;
  try {
    return new OnnxSession(runtime, await runtime.InferenceSession.create(path, sessionOptions));
  } catch (reason) {
    throw toLoadError(reason, path, options.runtime_backend);
  }
}
