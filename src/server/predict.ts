import { requestIdOf } from "../observability/request-id.ts";
import { limitedSignal } from "../platform/async/cancel-source.ts";
import { answeredTensors } from "../protocols/answered-tensors.ts";
import type { InferenceService } from "../serving/inference-service.ts";
import { requireSignature } from "../serving/require-signature.ts";
import { copyTensors } from "../tensor/packed-tensor.ts";
import type { Values } from "../tensor/plain-value.ts";
import { assertOutputs } from "../tensor/signature/choose-signature.ts";
import { toInputTensors } from "../tensor/signature/to-input-tensors.ts";
import type { Tensors } from "../tensor/tensor.ts";

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
  const limits = timeoutMs === undefined ? undefined : { deadline: Date.now() + timeoutMs };
  const call = { id: requestIdOf(metadata), metadata, limits, signal: limitedSignal(signal, timeoutMs) };
  const ref = { model, label, ...(version !== undefined && { version: BigInt(version) }) };
  const lease = await service.acquire(ref, call);
  try {
    const signature = requireSignature(name, lease.description, { inputs: Object.keys(inputs), outputs });
    assertOutputs(outputs, signature.spec?.outputs);
    // The caller's arrays stay the caller's: what a thread is given may be moved to it.
    const tensors = copyTensors(toInputTensors(inputs, signature.spec?.inputs));
    return answeredTensors(await lease.infer({ signature, inputs: { kind: "tensors", tensors }, outputs, call }));
  } finally {
    lease.release();
  }
}
