import type { RequestParameters } from "../hooks/hooks.ts";
import type { RequestRecord } from "../observability/request-record.ts";
import { type PlainTimeline, Timeline } from "../observability/timeline.ts";
import type { CancelSignal, CancelSource } from "../platform/async/cancel-source.ts";
import { arrivalLimits, type CallLimits } from "../platform/limits/call-limits.ts";
import type { MemoryShare } from "../platform/limits/memory/memory-share.ts";

/** The parts of a request in addition to its model and tensors: one object from the transport to the models. */
export interface CallOptions {
  /** The client's own id, else one that the transport creates. */
  readonly id: string;
  /** gRPC metadata or HTTP headers, names lower-cased. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Parameters that the client has set for the model, by name; absent = none. */
  readonly parameters?: RequestParameters | undefined;
  /** The other end of the client's connection, as gRPC names it; absent = there is none. */
  readonly peer?: string | undefined;
  /** Absent = none. */
  readonly limits?: CallLimits | undefined;
  /** Aborts when the client leaves or its deadline passes. */
  readonly signal: CancelSignal;
  /** Counts the request's bytes; the transport releases it. Absent = the service counts them itself. */
  readonly memory?: MemoryShare | undefined;
  /** The request's entry for logs and metrics; absent = there is none. */
  readonly record?: RequestRecord | undefined;
  /** Records the times of the request's parts; absent = they are not wanted. */
  readonly timeline?: Timeline | undefined;
}

/** The options of a request that has come over a connection. */
interface ArrivedCall extends CallOptions {
  readonly signal: CancelSource;
  readonly memory: MemoryShare;
  readonly record: RequestRecord;
}

/** Parts of a request that has come over a connection. */
interface Arrival extends Pick<ArrivedCall, "metadata" | "signal" | "memory"> {
  /** Absent = the client sets none. */
  readonly deadline: number | undefined;
}

/** Collects the options of a request as it arrives, or of one message of a stream. */
export function arrivedCall(record: RequestRecord, peer: CallOptions["peer"], arrival: Arrival): ArrivedCall {
  const { metadata, deadline, signal, memory } = arrival;
  const { id, timeline } = record;
  const limits = arrivalLimits(deadline, memory.client.number);
  // Named here, since a copy of a literal that adds a name costs more than one that changes it.
  return { id, metadata, parameters: undefined, peer, limits, signal, memory, record, timeline };
}

/** The options that another thread receives, as JSON can have them. */
export interface PlainCall extends Pick<CallOptions, "id" | "metadata" | "peer" | "limits"> {
  readonly parameters?: PlainParameters | undefined;
  /** Present if the thread is to tell the parts of the request. */
  readonly timeline?: PlainTimeline | undefined;
}

/** Converts options to plain data for another thread. */
export function toPlainCall({ id, metadata, parameters, peer, limits, timeline }: CallOptions): PlainCall {
  return {
    id,
    metadata,
    parameters: parameters && toPlainParameters(parameters),
    peer,
    limits,
    timeline: timeline?.toPlain(),
  };
}

/** Converts plain data from another thread to options. */
export function fromPlainCall(call: PlainCall, signal: CancelSignal, memory?: MemoryShare): CallOptions {
  const { id, metadata, peer, limits, timeline: plain } = call;
  const timeline = plain && new Timeline(plain);
  const parameters = call.parameters && fromPlainParameters(call.parameters);
  return { id, metadata, parameters, peer, limits, signal, memory, record: undefined, timeline };
}

/** Parameters for JSON, which has neither integers of 64 bits nor NaN: those are texts. */
export type PlainParameters = Readonly<Record<string, string | number | boolean | Unwritable>>;
type Unwritable = { readonly integer: string } | { readonly double: string };

/** Converts parameters for JSON. */
export function toPlainParameters(parameters: RequestParameters): PlainParameters {
  return Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, toPlain(value)]));
}

function toPlain(value: RequestParameters[string]): PlainParameters[string] {
  if (typeof value === "bigint") return { integer: String(value) };
  return typeof value === "number" && !Number.isFinite(value) ? { double: String(value) } : value;
}

function fromPlainParameters(parameters: PlainParameters): RequestParameters {
  return Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, fromPlain(value)]));
}

function fromPlain(value: PlainParameters[string]): RequestParameters[string] {
  if (typeof value !== "object") return value;
  return "integer" in value ? BigInt(value.integer) : Number(value.double);
}
