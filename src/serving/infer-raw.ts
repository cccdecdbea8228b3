import { ServingError } from "../errors.ts";
import { RAW_BODY, type RawHead } from "../pipeline/infer-request.ts";
import { rawPayload } from "../pipeline/run-raw.ts";
import type { CallOptions, InferResponse, Lease } from "./inference-service.ts";

/** A body for a function of a model's hooks. */
export interface RawRequest extends RawHead {
  readonly body: Uint8Array;
  readonly call: CallOptions;
}

/** Answer of that function. */
export interface RawResponse extends Pick<InferResponse, "metadata"> {
  readonly status: number;
  readonly contentType: string;
  readonly body: Uint8Array;
}

/** Headers that a hook does not get. */
const CREDENTIALS: ReadonlySet<string> = new Set(["authorization", "proxy-authorization", "cookie"]);

/**
 * Calls a function of the hooks of a leased version with bytes; throws as {@link Lease.infer}, and `not_found` if
 * the hooks have no such function.
 */
export async function inferRaw(lease: Lease, { entry, facts, body, call }: RawRequest): Promise<RawResponse> {
  const headers = Object.entries(call.metadata).filter(([name]) => !CREDENTIALS.has(name));
  const { outputs, metadata, contentType, status } = await lease.infer({
    signature: { name: "", spec: undefined },
    inputs: rawPayload(body),
    raw: { entry, facts },
    call: { ...call, metadata: Object.fromEntries(headers) },
  });
  const made = outputs.kind === "tensors" ? outputs.tensors[RAW_BODY]?.data : undefined;
  if (!(made instanceof Uint8Array) || contentType === undefined || status === undefined) {
    throw new ServingError("unavailable", "The hooks' thread sent a malformed answer.");
  }
  return { status, contentType, metadata, body: made };
}
