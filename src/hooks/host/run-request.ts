import { steadyMs } from "../../observability/steady-clock.ts";
import { fromPlainCall } from "../../pipeline/call-options.ts";
import type { InferResponse, PartSink } from "../../pipeline/infer-request.ts";
import { payloadBytes, payloadFromTensors, payloadToTensors } from "../../pipeline/payload.ts";
import type { Pipeline } from "../../pipeline/pipeline.ts";
import type { CancelSignal } from "../../platform/async/cancel-source.ts";
import type { WireRecord } from "../../platform/threads/frame.ts";
import type { Reply, Responder } from "../../platform/threads/responder.ts";
import { failedAnswer, type TimedAnswer } from "../../platform/threads/timed-answer.ts";
import { type RanMeta, RUN_PARTS, type RunMeta } from "./hook-protocol.ts";

/** The end of a request, and the function to call if it failed. */
interface Running {
  readonly signal: CancelSignal;
  readonly onError: (reason: unknown) => void;
  /** Takes the parts of an answer in parts; absent = there is one answer. */
  readonly parts?: PartSink;
  /** Called at the end. */
  readonly close?: () => void;
}

/** {@link runRequest} of a request that may be answered in parts, which the responder sends. */
export function runAnyRequest(
  pipeline: Pipeline,
  request: WireRecord,
  { responder, signal, onError }: Pick<Running, "signal" | "onError"> & { readonly responder: Responder },
): Promise<Reply> {
  if (request.kind !== RUN_PARTS) return runRequest(pipeline, request, { signal, onError });
  const { write, crowded, close } = responder.openParts(request.id);
  const parts: PartSink = {
    write: async (part) => {
      const { outputs } = part;
      await write({ meta: toRanMeta(part, undefined), tensors: payloadToTensors(outputs) }, payloadBytes(outputs));
    },
    crowded,
  };
  return runRequest(pipeline, request, { signal, onError, parts, close });
}

/** Runs a request of the main thread in the pipeline, and makes its answer, with the times if they are wanted. */
async function runRequest(
  pipeline: Pipeline,
  { meta, tensors = {} }: WireRecord,
  { signal, onError, parts, close }: Running,
): Promise<Reply> {
  const { call: plain, signature: name, kind, outputs, raw } = meta as RunMeta;
  const began = steadyMs();
  const call = fromPlainCall(plain, signal);
  const { timeline } = call;
  try {
    const signature = { name, spec: undefined };
    const inputs = payloadFromTensors(kind, tensors);
    const result = await pipeline.run({ signature, inputs, outputs, targets: undefined, raw, parts, call });
    const timed = timeline && { began, intervals: timeline.intervals };
    return { meta: toRanMeta(result, timed), tensors: payloadToTensors(result.outputs) };
  } catch (reason) {
    onError(reason);
    if (timeline === undefined) throw reason;
    return { meta: { metadata: {}, timed: failedAnswer(reason, began, timeline) }, tensors: undefined };
  } finally {
    close?.();
  }
}

function toRanMeta(result: InferResponse, timed: TimedAnswer | undefined): RanMeta | undefined {
  const { metadata, contentType, status } = result;
  if (contentType !== undefined && status !== undefined)
    return { metadata, contentType, status, ...(timed && { timed }) };
  if (timed !== undefined) return { metadata, timed, ...(contentType !== undefined && { contentType }) };
  if (contentType !== undefined) return { metadata, contentType };
  return Object.keys(metadata).length > 0 ? { metadata } : undefined;
}
