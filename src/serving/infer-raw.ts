import { ServingError } from "../errors.ts";
import { RAW_BODY, type RawHead } from "../pipeline/infer-request.ts";
import { rawPayload } from "../pipeline/run-raw.ts";
import type { CallOptions, InferResponse, Lease } from "./inference-service.ts";

/** A body for a function of a model's hooks. */
interface RawRequest extends RawHead {
  readonly body: Uint8Array;
  readonly call: CallOptions;
  /** Takes the parts of a body, as `PartSink` does: the first one with status, media type and headers. */
  readonly write?: ((part: RawResponse) => Promise<void>) | undefined;
}

/** Answer of that function. */
export interface RawResponse extends Pick<InferResponse, "metadata"> {
  readonly status: number;
  readonly contentType: string;
  readonly body: Uint8Array;
  /** Present = this is the end of so many parts that were written. */
  readonly parts?: number | undefined;
}

/** Headers that a hook does not get. */
const CREDENTIALS: ReadonlySet<string> = new Set(["authorization", "proxy-authorization", "cookie"]);

/**
 * Calls a function of the hooks of a leased version with bytes; throws as {@link Lease.infer}, and `not_found` if
 * the hooks have no such function.
 */
export async function inferRaw(lease: Lease, { entry, facts, body, call, write }: RawRequest): Promise<RawResponse> {
  const headers = Object.entries(call.metadata).filter(([name]) => lease.passesOn === true || !CREDENTIALS.has(name));
  let first: RawResponse | undefined;
  const answer = await lease.infer({
    signature: { name: "", spec: undefined },
    inputs: rawPayload(body),
    raw: { entry, facts },
    call: { ...call, metadata: Object.fromEntries(headers) },
    parts: write && {
      write: async (part) => {
        const made = toResponse(part, first);
        first ??= { ...made, body: NO_BYTES };
        await write(made);
      },
    },
  });
  if (answer.parts === undefined || first === undefined) return toResponse(answer);
  return { ...first, parts: answer.parts };
}

const NO_BYTES = new Uint8Array(0);

/** A part after the first one has the status and the media type of that. */
function toResponse(
  { outputs, metadata, contentType, status }: InferResponse,
  head: Pick<InferResponse, "contentType" | "status"> = { contentType, status },
): RawResponse {
  const made = outputs.kind === "tensors" ? outputs.tensors[RAW_BODY]?.data : undefined;
  if (!(made instanceof Uint8Array) || head.contentType === undefined || head.status === undefined)
    throw new ServingError("unavailable", "The hooks' thread sent a malformed answer.");
  return { status: head.status, contentType: head.contentType, metadata, body: made };
}
