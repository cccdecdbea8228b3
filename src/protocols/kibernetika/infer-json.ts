import type { CallOptions, InferenceService, InferResponse } from "../../serving/inference-service.ts";
import { requireSignature } from "../../serving/require-signature.ts";

/** Runs a PredictJSON request, the same over either transport. */
export async function inferJson(
  service: InferenceService,
  json: Uint8Array,
  call: CallOptions,
): Promise<InferResponse> {
  const lease = await service.acquire({ model: "" }, call);
  try {
    const signature = requireSignature("", lease.description);
    return await lease.infer({ signature, inputs: { kind: "json", json }, call });
  } finally {
    lease.release();
  }
}
