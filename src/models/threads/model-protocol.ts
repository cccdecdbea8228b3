import { type PlainTimeline, Timeline } from "../../observability/timeline.ts";
import type { CancelSignal } from "../../platform/async/cancel-source.ts";
import { hasClientAlone, NO_LIMITS } from "../../platform/limits/call-limits.ts";
import { FIRST_REQUEST } from "../../platform/threads/rpc-client.ts";
import type { ModelCall } from "../model-handle.ts";

/** Asks a model to predict; its inputs are the record's tensors. */
export const PREDICT = FIRST_REQUEST;
/** Asks for a call of a method that the model gives to hooks. */
export const CALL = FIRST_REQUEST + 1;
/** Asks what the model's runs took; the answer's meta is a RunStatistics. */
export const STATISTICS = FIRST_REQUEST + 2;

/** {@link PREDICT} of a call that takes its answer in parts: records of PART come before the last, empty one. */
export const PREDICT_PARTS = FIRST_REQUEST + 3;

/**
 * A call as the meta of {@link PREDICT}. Undefined for one without any wish, since plain data costs as much as all else
 * of a small record; the client's number for one that differs in that alone.
 */
export type SentCall = PlainModelCall | number | undefined;

/** A call as plain data; with a timeline, the answer is to be a {@link TimedAnswer}. */
export type PlainModelCall = Partial<Pick<ModelCall, "signature" | "outputs" | "targets" | "requestId" | "limits">> & {
  readonly timeline?: PlainTimeline | undefined;
};

/** Converts a call to plain data for the model's thread. */
export function toSentCall(call: ModelCall, defaultSignature: string): SentCall {
  const { signature, outputs, targets, requestId, limits = NO_LIMITS, timeline } = call;
  const isWhole = outputs === undefined && targets === undefined && signature === defaultSignature;
  const isLogged = requestId !== undefined || timeline !== undefined;
  if (isWhole && !isLogged && hasClientAlone(limits)) return limits.client || undefined;
  return { signature, outputs, targets, requestId, limits: call.limits, timeline: timeline?.toPlain() };
}

const NOTHING: PlainModelCall = {};

/** The call that was sent, in the model's thread. */
export function fromSentCall(sent: SentCall, defaultSignature: string, signal: CancelSignal): ModelCall {
  const { signature, outputs, targets, requestId, limits, timeline } = typeof sent === "object" ? sent : NOTHING;
  return {
    signature: signature ?? defaultSignature,
    outputs,
    targets,
    requestId,
    limits: typeof sent === "number" ? { client: sent } : limits,
    signal,
    timeline: timeline && new Timeline(timeline),
  };
}

/** The meta of {@link CALL}; its tensors are those of the arguments. */
export interface CallMeta {
  readonly method: string;
  readonly args: unknown;
}
