import { assertOutputs } from "../tensor/signature/choose-signature.ts";
import type { InferenceService, InferRequest, InferResponse, ModelRef } from "./inference-service.ts";
import { usedNames } from "./request-names.ts";
import { requireSignature } from "./require-signature.ts";

/** A request, and the model that it is for. */
export interface SingleRequest extends Pick<InferRequest, "inputs" | "outputs" | "parts" | "call"> {
  readonly ref: ModelRef;
  /** Empty = the default signature. */
  readonly signature: string;
}

/** Runs one request under its own lease; throws only ServingError. */
export async function inferOnce(
  service: Pick<InferenceService, "acquire">,
  request: SingleRequest,
): Promise<InferResponse> {
  const { ref, signature: name, inputs, outputs, parts, call } = request;
  const lease = await service.acquire(ref, call);
  try {
    const signature = requireSignature(name, lease.description, usedNames(request));
    assertOutputs(outputs, signature.spec?.outputs);
    return await lease.infer({ signature, inputs, outputs, parts, call });
  } finally {
    lease.release();
  }
}
