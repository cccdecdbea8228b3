import type { CancelSignal } from "../async/cancel-source.ts";
import { type CallLimits, type PlainLimits, toPlainLimits } from "../limits/call-limits.ts";
import type { MemoryShare } from "../limits/memory/memory-share.ts";
import type { RequestRecord } from "../observability/request-record.ts";
import { type PlainTimeline, Timeline } from "../observability/timeline.ts";

/** The parts of a request in addition to its model and tensors: one object from the transport to the models. */
export interface CallOptions extends CallLimits {
  /** The client's own id, else one that the transport creates. */
  readonly id: string;
  /** gRPC metadata or HTTP headers, names lower-cased. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The other end of the client's connection, as gRPC names it; absent = there is none. */
  readonly peer?: string | undefined;
  /** Counts the request's bytes; the transport releases it. Absent = the service counts them itself. */
  readonly memory?: MemoryShare | undefined;
  /** The request's entry for logs and metrics; absent = there is none. */
  readonly record?: RequestRecord | undefined;
  /** True for inputs from a hook of another model, as {@link ModelCall.fromHook}. */
  readonly fromHook?: boolean | undefined;
}

/** The options that a hook thread receives. */
export interface PlainCall extends Pick<CallOptions, "id" | "metadata" | "peer"> {
  readonly limits?: PlainLimits | undefined;
  /** Present where the thread is to tell the parts of the request. */
  readonly timeline?: PlainTimeline | undefined;
}

/** Converts options to plain data for a hook thread. */
export function toPlainCall(call: CallOptions): PlainCall {
  const { id, metadata, peer } = call;
  return { id, metadata, peer, limits: toPlainLimits(call), timeline: call.timeline?.toPlain() };
}

/** Converts plain data from the main thread to options. */
export function fromPlainCall(
  { id, metadata, peer, limits, timeline: plain }: PlainCall,
  signal: CancelSignal,
): CallOptions {
  const timeline = plain && new Timeline(plain);
  return limits === undefined
    ? { id, metadata, peer, signal, timeline }
    : { id, metadata, peer, signal, timeline, ...limits };
}
