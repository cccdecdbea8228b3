import { readNpy } from "../../codecs/npy/read-npy.ts";
import { invalidArgument } from "../../errors.ts";
import { DecodeBudget } from "../../limits/memory/decode-budget.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer } from "../../proxy/http-route.ts";
import type { InferenceService, ModelRef } from "../../serving/inference-service.ts";
import { requireSignature } from "../../serving/require-signature.ts";
import type { Signature } from "../../signature/signature.ts";
import { createTensor, createTensors, type Tensor } from "../../tensor/tensor.ts";
import { toRawInput } from "../kserve/raw-input.ts";
import { toPredictions, type WritePredicted } from "../tensorflow-serving/http-predict.ts";

const NPY = "application/x-npy";
const ENCODED_TYPES: ReadonlySet<string> = new Set([NPY, "application/x-image", "application/octet-stream"]);

/** Checks if a body of this media type is the one input of a model: an array, an image, or a file. */
export function isEncodedType(mediaType: string): boolean {
  return ENCODED_TYPES.has(mediaType) || mediaType.startsWith("image/");
}

/** A body that is the one input of a model. */
export interface EncodedRequest {
  readonly ref: ModelRef;
  readonly body: Buffer;
  readonly mediaType: string;
  /** Writes the answer. Default: as `:predict` does. */
  readonly write?: WritePredicted | undefined;
}

/**
 * Runs a model whose one input is the body. Throws
 * `invalid_argument` for a model with several inputs.
 */
export async function answerEncoded(
  service: InferenceService,
  { ref, body, mediaType, write = toPredictions }: EncodedRequest,
  exchange: HttpExchange,
): Promise<HttpAnswer> {
  const call = exchange.callInfo();
  const lease = await service.acquire(ref, call);
  try {
    const signature = requireSignature("", lease.description);
    const budget = new DecodeBudget(exchange.maxMessageBytes);
    const input = toInput(signature.spec, { body, mediaType, model: lease.description.model, budget });
    const inputs = { kind: "tensors" as const, tensors: createTensors([input]) };
    const answer = await lease.infer({ signature, inputs, outputs: undefined, call });
    return await write({ signature, format: "row", answer }, exchange);
  } finally {
    lease.release();
  }
}

interface EncodedInput {
  readonly body: Buffer;
  readonly mediaType: string;
  readonly model: string;
  readonly budget: DecodeBudget;
}

/**
 * The only input and its tensor. If the model does not report its inputs, hooks get the bytes under the name that
 * TensorFlow Serving has for one without.
 */
function toInput(
  { inputs: specs, inputNames }: Signature = {},
  { body, mediaType, model, budget }: EncodedInput,
): readonly [name: string, tensor: Tensor] {
  const names = specs?.map(({ name }) => name) ?? inputNames ?? ["inputs"];
  if (names.length !== 1) {
    throw invalidArgument(
      `A body of type ${mediaType} is one tensor, but the model takes ${names.length}: ${names.join(", ")}. Send JSON.`,
    );
  }
  const name = names[0]!;
  if (mediaType === NPY) return [name, readNpy(body)];
  return specs === undefined ? [name, createTensor("bytes", [1], [body])] : toRawInput(specs, body, { model, budget });
}
