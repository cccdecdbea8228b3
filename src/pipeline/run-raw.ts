import { ServingError } from "../errors.ts";
import { checkResponse } from "../hooks/check-response.ts";
import type { HookSet } from "../hooks/hook-set.ts";
import type { HookContext } from "../hooks/hooks.ts";
import { callHook } from "../hooks/run-hook.ts";
import { createTensor, createTensors, type Tensors } from "../tensor/tensor.ts";
import type { HookClock } from "./hook-times.ts";
import { timeHook } from "./hook-times.ts";
import {
  type InferRequest,
  type InferResponse,
  RAW_BODY,
  type RawHead,
  type ServedVersion,
  toAnswer,
} from "./infer-request.ts";
import type { Payload } from "./payload.ts";

/** The hooks of a pipeline, and a context for the request. */
interface RawParts {
  readonly served: ServedVersion;
  readonly hooks?: HookSet;
  readonly hookTimeoutMs?: number;
  readonly clock?: HookClock;
  readonly open: () => HookContext;
}

/**
 * Calls the function of the hook file that a request names; throws `not_found` if
 * the file has none. Its time counts as that of `process`.
 */
export async function runRaw(
  { entry: name, facts }: RawHead,
  asked: InferRequest,
  { served, hooks, hookTimeoutMs: timeoutMs, clock, open }: RawParts,
): Promise<InferResponse> {
  const entry = hooks?.entries?.get(name);
  if (entry === undefined) {
    const message = `Version ${served.version} of the model ${served.model} does not answer ${name}.`;
    throw new ServingError("not_found", message);
  }
  const ctx = open();
  const { inputs, call } = asked;
  const request = { facts, headers: call.metadata, body: bodyOf(inputs) };
  return timeHook({ kind: "process", stage: 0, call, clock }, async () => {
    const returned = await callHook(() => entry.call(request, ctx), entry.place, { ctx, timeoutMs });
    const { status, contentType, body } = entry.seal(returned);
    const { metadata } = checkResponse(ctx.response);
    return toAnswer(served, asked, { outputs: rawPayload(body), metadata, contentType, status });
  });
}

/** A body as a payload. */
export function rawPayload(body: Uint8Array): Payload & { readonly kind: "tensors" } {
  // Not a Buffer, which would be one on the other side of a thread only.
  const bytes = new Uint8Array(body.buffer as ArrayBuffer, body.byteOffset, body.byteLength);
  return { kind: "tensors", tensors: createTensors([[RAW_BODY, createTensor("uint8", [bytes.length], bytes)]]) };
}

function bodyOf(payload: Payload): Buffer {
  const { data } = (payload as { readonly tensors: Tensors }).tensors[RAW_BODY] ?? {};
  const bytes = data as Uint8Array;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
