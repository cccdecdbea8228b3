import { isSpanContext } from "../../observability/interval.ts";
import type { PlainTimeline } from "../../observability/timeline.ts";
import { areCallLimits } from "../../platform/limits/call-limits.ts";
import type { WireRecord } from "../../platform/threads/frame.ts";
import { MalformedMessage } from "../../platform/threads/host-port.ts";
import { CALL, type CallMeta, type PlainModelCall, PREDICT, PREDICT_PARTS, STATISTICS } from "./model-protocol.ts";

type Unchecked<Meta> = { readonly [Key in keyof Meta]?: unknown };

/**
 * Checks a request to a model from another thread, which may run hooks; throws {@link MalformedMessage} for one that a
 * model client does not send.
 */
export function checkModelRequest({ kind, meta }: WireRecord): void {
  if (kind === PREDICT || kind === PREDICT_PARTS) checkPredict((meta ?? {}) as Unchecked<PlainModelCall>);
  else if (kind === CALL) checkCall((meta ?? {}) as Unchecked<CallMeta>);
  else if (kind !== STATISTICS) throw new MalformedMessage(`it has kind ${kind}, which no model answers`);
}

function checkPredict(call: Unchecked<PlainModelCall>): void {
  const { signature, outputs, targets, requestId, limits, timeline } = call;
  const isValid =
    (signature === undefined || typeof signature === "string") &&
    (requestId === undefined || typeof requestId === "string") &&
    areNames(outputs) &&
    areNames(targets) &&
    isPlainTimeline(timeline) &&
    areCallLimits(limits);
  if (!isValid) throw new MalformedMessage("it has a predict whose signature, outputs or times are not valid");
}

function isPlainTimeline(timeline: unknown): boolean {
  if (timeline === undefined) return true;
  if (typeof timeline !== "object" || timeline === null) return false;
  const { span } = timeline as Unchecked<PlainTimeline>;
  return span === undefined || isSpanContext(span);
}

/** Absent, or a list of texts. */
function areNames(names: unknown): boolean {
  return names === undefined || (Array.isArray(names) && names.every((name) => typeof name === "string"));
}

function checkCall({ method, args }: Unchecked<CallMeta>): void {
  if (typeof method === "string" && Array.isArray(args)) return;
  throw new MalformedMessage("it has a call without method and arguments");
}
