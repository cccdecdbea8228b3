import type { InferenceSession, Tensor as OrtTensor } from "onnxruntime-node";
import { createRecord } from "../../../tensor/record.ts";
import { createTensors, type Tensor, type Tensors } from "../../../tensor/tensor.ts";
import { toDType } from "../element-types.ts";
import type { EngineSession, OnnxPort, RunChoice } from "../engine.ts";
import type { OnnxRuntime } from "../onnx-runtime.ts";
import type { OnnxValues } from "../onnx-value.ts";
import { fromOnnxTensor, toOnnxTensor } from "./node-tensor.ts";

/** A session of onnxruntime-node. A run blocks the thread, and cannot be ended. */
export class NodeSession implements EngineSession {
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

  async run(inputs: OnnxValues, { outputs, signal }: RunChoice): Promise<Tensors> {
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
