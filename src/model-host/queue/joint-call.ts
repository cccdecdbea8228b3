import { type CancelSignal, CancelSource } from "../../async/cancel-source.ts";
import { BatchTimeline } from "../../observability/timeline.ts";
import type { ModelCall } from "../model-handle.ts";
import type { QueuedRun } from "./queued-run.ts";

/** The call of a batch, and the end of its wait for the signals of its requests, which may live longer. */
interface JointCall {
  readonly call: ModelCall;
  readonly forgetSignals: () => void;
}

/** A run ends early only once all of its requests have been given up; the longest deadline of them all applies. */
export function jointCall(taken: readonly QueuedRun[]): JointCall {
  const [{ call: first }] = taken as readonly [QueuedRun];
  if (taken.length === 1) return { call: first, forgetSignals: () => {} };
  const latest = Math.max(...taken.map(({ limits }) => limits.deadline ?? Number.POSITIVE_INFINITY));
  const { signature, outputs } = first;
  const { signal, forgetSignals } = jointSignal(taken.map(({ call }) => call.signal));
  const limits = Number.isFinite(latest) ? { deadline: latest } : undefined;
  const requestId = first.requestId === undefined ? undefined : taken.map(({ call }) => call.requestId).join(" ");
  const timelines = taken.flatMap(({ call }) => call.timeline ?? []);
  const timeline = timelines.length === 0 ? undefined : new BatchTimeline(timelines);
  return { call: { signature, outputs, requestId, limits, signal, timeline }, forgetSignals };
}

/** Aborts once all of the signals have. */
function jointSignal(signals: readonly CancelSignal[]): { signal: CancelSource } & Pick<JointCall, "forgetSignals"> {
  const signal = new CancelSource();
  let open = signals.length;
  const waits = signals.map((each) => ({ each, leave: () => --open === 0 && signal.abort(each.reason) }));
  for (const { each, leave } of waits) each.addEventListener("abort", leave, { once: true });
  const forgetSignals = () => {
    for (const { each, leave } of waits) each.removeEventListener("abort", leave);
  };
  return { signal, forgetSignals };
}
