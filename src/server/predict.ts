import { requestIdOf } from "../observability/request-id.ts";
import { answeredTensors } from "../protocols/answered-tensors.ts";
import type { InferenceService } from "../serving/inference-service.ts";
import { requireSignature } from "../serving/require-signature.ts";
import { assertOutputs } from "../signature/assert-outputs.ts";
import type { Dimension, TensorSpec } from "../signature/signature.ts";
import { takesImages } from "../signature/takes-images.ts";
import { copyTensors } from "../tensor/copy-tensors.ts";
import { toTensors, type Values } from "../tensor/plain-value.ts";
import { createTensors, elementCount, type Tensor, type Tensors } from "../tensor/tensor.ts";

/** Choices for one request of a program to its own server. */
export interface PredictChoices {
  /** Absent = the highest version, or the label's. */
  readonly version?: number | bigint;
  readonly label?: string;
  /** Absent = the default signature. */
  readonly signature?: string;
  /** Names of the wanted outputs; absent = all. */
  readonly outputs?: readonly string[];
  /** Fails the request with `deadline_exceeded` after so many milliseconds. */
  readonly timeoutMs?: number;
  /** Gives the request up. */
  readonly signal?: AbortSignal;
  /** Headers as hooks see them in `ctx.metadata`, names lower-cased. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** A request: the model's name, and values by its inputs' names. */
interface OwnRequest extends PredictChoices {
  readonly model: string;
  readonly inputs: Values;
}

/** Runs one request without a wire. Throws as {@link Server.predict}. */
export async function predict(
  service: Pick<InferenceService, "acquire">,
  { model, inputs, version, label, signature: name = "", outputs, timeoutMs, signal, metadata = {} }: OwnRequest,
): Promise<Tensors> {
  const call = { id: requestIdOf(metadata), metadata, ...timeOf(timeoutMs, signal) };
  const ref = { model, label, ...(version !== undefined && { version: BigInt(version) }) };
  const lease = await service.acquire(ref, call);
  try {
    const signature = requireSignature(name, lease.description);
    assertOutputs(outputs, signature.spec?.outputs);
    const tensors = toInputs(inputs, signature.spec?.inputs);
    return answeredTensors(await lease.infer({ signature, inputs: { kind: "tensors", tensors }, outputs, call }));
  } finally {
    lease.release();
  }
}

function timeOf(timeoutMs: number | undefined, signal: AbortSignal | undefined) {
  const timeout = timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)];
  const given = signal === undefined ? [] : [signal];
  const deadline = timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs };
  return { signal: AbortSignal.any([...given, ...timeout]), ...deadline };
}

/** The caller's arrays stay the caller's: what a thread is given may be moved to it. */
function toInputs(values: Values, specs: readonly TensorSpec[] | undefined): Tensors {
  const specOf = (name: string) => specs?.find((spec) => spec.name === name);
  const tensors = copyTensors(toTensors(values, (name) => specOf(name)?.dtype));
  const shaped = Object.entries(tensors).map(([name, tensor]) => {
    const spec = specOf(name);
    // One image is a batch of one.
    if (Buffer.isBuffer(values[name]))
      return [name, spec && takesImages(spec) ? { ...tensor, shape: [1] } : tensor] as const;
    return [name, ArrayBuffer.isView(values[name]) ? inShapeOf(tensor, spec) : tensor] as const;
  });
  return createTensors(shaped);
}

/** A typed array has no shape: it takes the input's, where that leaves one size open at most. */
function inShapeOf(tensor: Tensor, spec: TensorSpec | undefined): Tensor {
  const { shape = [-1] } = spec ?? {};
  const fixed = shape.filter(isFixed);
  const rest = tensor.data.length / elementCount(fixed);
  const isOneOpen = shape.length === fixed.length + 1 && Number.isInteger(rest);
  if (!isOneOpen && (shape.length !== fixed.length || rest !== 1)) return tensor;
  return { ...tensor, shape: shape.map((size) => (isFixed(size) ? size : rest)) };
}

function isFixed(size: Dimension): size is number {
  return typeof size === "number" && size >= 0;
}
