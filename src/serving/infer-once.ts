import type { CallOptions } from "../pipeline/call-options.ts";
import { assertOutputs } from "../signature/choose-signature.ts";
import type { InferenceService, InferRequest, InferResponse, ModelRef } from "./inference-service.ts";
import { usedNames } from "./request-names.ts";
import { requireSignature } from "./require-signature.ts";

/** A request with everything that it needs. */
export interface SingleRequest extends ModelRef, CallOptions, Pick<InferRequest, "inputs" | "outputs"> {
  /** Empty = the default signature. */
  readonly signature: string;
}

/** Runs one request under its own lease; throws only ServingError. */
export async function inferOnce(
  service: Pick<InferenceService, "acquire">,
  request: SingleRequest,
): Promise<InferResponse> {
  const { model, version, label, signature: name, inputs, outputs, ...call } = request;
  const lease = await service.acquire({ model, version, label }, call);
  try {
    const signature = requireSignature(name, lease.description, usedNames(request));
    assertOutputs(outputs, signature.spec?.outputs);
    return await lease.infer({ signature, inputs, outputs, call });
  } finally {
    lease.release();
  }
}
