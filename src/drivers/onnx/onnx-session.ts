import { failedPrecondition, ServingError } from "../../errors.ts";
import type { Tensors } from "../../tensor/tensor.ts";
import type { EngineSession, OnnxEngine, OnnxLoading, OnnxPort, RunChoice } from "./engine.ts";
import { type SymbolicShapes, toLoadError, toRunError } from "./onnx-error.ts";

/** A loaded model, whose errors are told as clients understand them. */
export class OnnxSession {
  readonly #session: EngineSession;
  readonly #symbols: SymbolicShapes;
  #closed = false;

  /** Takes over the session: frees it in {@link close}. */
  constructor(session: EngineSession) {
    this.#session = session;
    this.#symbols = new Map(session.inputs.map(({ name, shape }) => [name, shape]));
  }

  /** The inputs that a run needs. */
  get inputs(): readonly OnnxPort[] {
    return this.#session.inputs;
  }

  get outputs(): readonly OnnxPort[] {
    return this.#session.outputs;
  }

  /** Runs the model, and may block the thread meanwhile; gives the outputs named, or all. */
  async run(inputs: Tensors, choice: RunChoice = {}): Promise<Tensors> {
    if (this.#closed) throw failedPrecondition("The model is closed.");
    try {
      return await this.#session.run(inputs, choice);
    } catch (reason) {
      if (reason instanceof ServingError) throw reason;
      if (choice.signal?.aborted) throw ServingError.from(choice.signal.reason);
      throw toRunError(reason, inputs, this.#symbols);
    }
  }

  /** Waits for the last run and frees the model; runs fail from here on. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#session.close();
  }
}

/** Loads a model. Throws `failed_precondition` with the runtime's reason. */
export async function loadOnnxSession(engine: OnnxEngine, path: string, loading: OnnxLoading): Promise<OnnxSession> {
  try {
    return new OnnxSession(await engine.load(path, loading));
  } catch (reason) {
    if (reason instanceof ServingError) throw reason;
    throw toLoadError(reason, path, loading.options.runtime_backend);
  }
}
