import { ServingError } from "../../errors.ts";
import type { CallOptions, InferenceService, InferResponse } from "../../serving/inference-service.ts";
import { requireSignature } from "../../serving/require-signature.ts";

/** An answer in JSON. */
interface JsonAnswer extends Pick<InferResponse, "metadata"> {
  readonly json: Uint8Array;
}

/** Runs a PredictJSON request, the same over either transport. */
export async function inferJson(service: InferenceService, json: Uint8Array, call: CallOptions): Promise<JsonAnswer> {
  const lease = await service.acquire({ model: "" }, call);
  try {
    const signature = requireSignature("", lease.description);
    const { outputs, metadata } = await lease.infer({ signature, inputs: { kind: "json", json }, call });
    if (outputs.kind === "json") return { json: outputs.json, metadata };
    throw new ServingError("internal", "The service answered a request for JSON with tensors.");
  } finally {
    lease.release();
  }
}
