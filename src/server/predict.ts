import type { RequestParameters } from "../hooks/hooks.ts";
import { requestIdOf } from "../observability/request-id.ts";
import { limitedSignal } from "../platform/async/cancel-source.ts";
import { handParts } from "../platform/async/hand-parts.ts";
import { answeredTensors } from "../protocols/answered-tensors.ts";
import type { InferenceService, InferResponse, PartSink } from "../serving/inference-service.ts";
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
  /** As hooks see them in `ctx.request.parameters`. */
  readonly parameters?: RequestParameters;
}

/** A request: the model's name, and values by its inputs' names. */
interface OwnRequest extends PredictChoices {
  readonly model: string;
  readonly inputs: Values;
}

/** Runs one request without a wire. Throws as {@link Server.predict}. */
export async function predict(service: Pick<InferenceService, "acquire">, request: OwnRequest): Promise<Tensors> {
  const { signal, timeoutMs } = request;
  return answeredTensors(await inferOwn(service, { ...request, signal: limitedSignal(signal, timeoutMs) }));
}

/** The same with the whole answer, which may come in parts if there is a sink for them. */
async function inferOwn(
  service: Pick<InferenceService, "acquire">,
  request: OwnRequest & { readonly signal: AbortSignal },
  parts?: PartSink,
): Promise<InferResponse> {
  const { model, inputs, version, label, signature: name = "", outputs, timeoutMs, signal } = request;
  const { metadata = {}, parameters } = request;
  const limits = timeoutMs === undefined ? undefined : { deadline: Date.now() + timeoutMs };
  const call = { id: requestIdOf(metadata), metadata, parameters, limits, signal };
  const ref = { model, label, ...(version !== undefined && { version: BigInt(version) }) };
  const lease = await service.acquire(ref, call);
  try {
    const signature = requireSignature(name, lease.description, { inputs: Object.keys(inputs), outputs });
    assertOutputs(outputs, signature.spec?.outputs);
    // The caller's arrays stay the caller's: what a thread is given may be moved to it.
    const tensors = copyTensors(toInputTensors(inputs, signature.spec?.inputs));
    return await lease.infer({ signature, inputs: { kind: "tensors", tensors }, outputs, parts, call });
  } finally {
    lease.release();
  }
}

/**
 * Runs one request without a wire, and gives the parts of its answer as they come; the answer of a model that answers
 * once is the only part. To leave the loop ends the request. Throws as `Server.predict`.
 */
export async function* streamParts(
  service: Pick<InferenceService, "acquire">,
  request: OwnRequest,
): AsyncGenerator<Tensors, void, undefined> {
  const given = request.signal === undefined ? [] : [request.signal];
  yield* handParts<Tensors>(async (write, leaving) => {
    const signal = limitedSignal(AbortSignal.any([leaving, ...given]), request.timeoutMs);
    // The hook may write the next part into the same arrays.
    const sink = { write: (part: InferResponse) => write(copyTensors(answeredTensors(part))) };
    const answer = await inferOwn(service, { ...request, signal }, sink);
    if (answer.parts === undefined) await sink.write(answer);
  });
}
