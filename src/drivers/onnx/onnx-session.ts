import { dirname, resolve } from "node:path";
import { failedPrecondition, ServingError } from "../../errors.ts";
import { createTensors, isTensor, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import type { EngineSession, OnnxEngine, OnnxLoading, OnnxPort, RunChoice } from "./engine.ts";
import { readGuardedModel } from "./guards/guarded-model.ts";
import { type SymbolicShapes, toLoadError, toRunError } from "./onnx-error.ts";
import { carriedTensor } from "./onnx-type.ts";
import type { OnnxValues } from "./onnx-value.ts";

/** The configuration entry with the folder of data files, for a model that is given as bytes. */
const DATA_FOLDER = "model_external_initializers_file_folder_path";

/** A loaded model, whose errors are in words that clients understand. */
export class OnnxSession {
  readonly #session: EngineSession;
  readonly #symbols: SymbolicShapes;
  #closed = false;

  /** Takes over the session: frees it in {@link close}. */
  constructor(session: EngineSession) {
    this.#session = session;
    this.#symbols = new Map(session.inputs.map(({ name, type }) => [name, type.kind === "tensor" ? type.shape : []]));
  }

  /** The inputs that a run needs. */
  get inputs(): readonly OnnxPort[] {
    return this.#session.inputs;
  }

  get outputs(): readonly OnnxPort[] {
    return this.#session.outputs;
  }

  /** The exporter's notes about the model; absent where the engine does not tell. */
  get metadata(): Readonly<Record<string, string>> | undefined {
    return this.#session.metadata;
  }

  /** Runs the model, and may block the thread meanwhile; gives the outputs named, or all. */
  async run(inputs: OnnxValues, choice: RunChoice = {}): Promise<OnnxValues> {
    if (this.#closed) throw failedPrecondition("The model is closed.");
    try {
      return await this.#session.run(inputs, choice);
    } catch (reason) {
      if (reason instanceof ServingError) throw reason;
      if (choice.signal?.aborted) throw ServingError.from(choice.signal.reason);
      throw toRunError(reason, tensorsOf(inputs), this.#symbols);
    }
  }

  /** True where {@link runNow} can be called: all outputs are tensors that requests carry. */
  get canRunNow(): boolean {
    const areCarried = this.outputs.every(({ type }) => carriedTensor("Output", type) !== undefined);
    return this.#session.runNow !== undefined && areCarried;
  }

  /** Runs the model in this thread and gives all outputs, where the engine can wait for nothing. */
  runNow(inputs: Tensors): Tensors {
    try {
      return this.#session.runNow!(inputs) as Tensors;
    } catch (reason) {
      throw reason instanceof ServingError ? reason : toRunError(reason, inputs, this.#symbols);
    }
  }

  /** Waits for the last run and frees the model; runs fail from here on. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#session.close();
  }
}

function tensorsOf(values: OnnxValues): Tensors {
  return createTensors(Object.entries(values).filter((entry): entry is [string, Tensor] => isTensor(entry[1])));
}

/** Loads a model with its guards. Throws `failed_precondition` with the runtime's reason. */
export async function loadOnnxSession(engine: OnnxEngine, path: string, loading: OnnxLoading): Promise<OnnxSession> {
  try {
    return new OnnxSession(await loadGuarded(engine, path, loading));
  } catch (reason) {
    if (reason instanceof ServingError) throw reason;
    throw toLoadError(reason, path, loading.options.runtime_backend);
  }
}

/** ONNX Runtime's words about a file that it does not load are about the file as it is. */
async function loadGuarded(engine: OnnxEngine, path: string, loading: OnnxLoading): Promise<EngineSession> {
  const bytes = readGuardedModel(path);
  if (bytes === undefined) return engine.load(path, loading);
  const session = { ...loading.options.session, [DATA_FOLDER]: dirname(resolve(path)) };
  try {
    return await engine.load(path, { ...loading, options: { ...loading.options, session }, bytes });
  } catch (reason) {
    if (loading.needsGuards) throw reason;
    return engine.load(path, loading);
  }
}
