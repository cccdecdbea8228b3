import { hasClientAlone, type PlainLimits, toPlainLimits } from "../../limits/call-limits.ts";
import type { PlainTimeline } from "../../observability/timeline.ts";
import { FIRST_REQUEST } from "../../threads/rpc-client.ts";
import type { ModelCall } from "../model-handle.ts";

/** Asks a model to predict; its inputs are the record's tensors. */
export const PREDICT = FIRST_REQUEST;
/** Asks for a call of a method that the model gives to hooks. */
export const CALL = FIRST_REQUEST + 1;
/** Asks what the model's runs took; the answer's meta is a RunStatistics. */
export const STATISTICS = FIRST_REQUEST + 2;

/** The meta of {@link PREDICT}: what differs from a predict of the default signature without any wish. */
export interface PredictMeta extends PlainLimits {
  readonly signature?: string;
  readonly fromHook?: boolean | undefined;
  readonly outputs?: readonly string[] | undefined;
  readonly targets?: readonly string[] | undefined;
  readonly requestId?: string | undefined;
  /** Present where the answer is to be a {@link TimedAnswer}. */
  readonly timeline?: PlainTimeline | undefined;
}

/**
 * A call's meta; undefined for one that differs in nothing, since plain data costs as
 * much as all else of a small record; the client's number where it differs in that alone.
 */
export function toPredictMeta(call: ModelCall, defaultSignature: string): PredictMeta | number | undefined {
  const { signature, fromHook, outputs, targets, requestId, client } = call;
  const isWhole = outputs === undefined && targets === undefined;
  const timeline = call.timeline?.toPlain();
  const isLogged = requestId !== undefined || timeline !== undefined;
  const isPlain = fromHook === undefined && isWhole && hasClientAlone(call) && !isLogged;
  if (isPlain && signature === defaultSignature) return client || undefined;
  const limits = toPlainLimits(call);
  return { signature, fromHook, outputs, targets, requestId, timeline, ...limits };
}

/** The meta of {@link CALL}; its tensors are those of the arguments. */
export interface CallMeta {
  readonly method: string;
  readonly args: unknown;
}
