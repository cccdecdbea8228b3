import { randomFillSync } from "node:crypto";

/** A span of a trace, as others refer to it. */
export interface SpanContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  /** Value of the header `tracestate`, which is passed on. */
  readonly state?: string | undefined;
  /** True if the trace's id is known to be random, which W3C Trace Context has a flag for. */
  readonly isRandom?: boolean | undefined;
}

/** A span context as a client sent it. */
export interface ParentContext extends SpanContext {
  /** True if the client records its spans. */
  readonly isSampled: boolean;
}

/** A request's place in a trace that is recorded. */
export interface RequestTrace {
  /** The span of the request. */
  readonly span: SpanContext;
  /** The client's; absent = the trace begins here. */
  readonly parentId?: string | undefined;
  /** Counts the request as recorded; false if no more may be. */
  readonly take: () => boolean;
}

/** Version, trace id, parent id, flags; of a later version more may follow. */
const TRACEPARENT = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/;
/** Flags of a trace. */
const [SAMPLED, RANDOM] = [1, 2];
/** Characters of a trace state that are passed on; W3C Trace Context asks for 512 at least. */
const MAX_STATE = 2048;
/** Characters of a baggage that are passed on: W3C Baggage asks for so many at least. */
const MAX_BAGGAGE = 8192;
/** Members of a trace state, and their form. */
const MAX_MEMBERS = 32;
const MEMBER = /^[\da-z][\da-z_*/@-]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/**
 * The span that a request is a part of by its headers or metadata, names in lower
 * case; undefined if they name none, or not in W3C's form.
 */
export function parentOf(metadata: Readonly<Record<string, unknown>>): ParentContext | undefined {
  const { traceparent, tracestate } = metadata;
  const found = typeof traceparent === "string" ? TRACEPARENT.exec(traceparent.trim()) : undefined;
  if (!found) return undefined;
  const [, version, traceId = "", spanId = "", flags = "", more] = found;
  if (version === "00" && more !== undefined) return undefined;
  const bits = Number.parseInt(flags, 16);
  return {
    traceId,
    spanId,
    state: toState(tracestate),
    isSampled: (bits & SAMPLED) !== 0,
    isRandom: (bits & RANDOM) !== 0,
  };
}

/**
 * The members of a trace state, without the spaces, tabs and empty members that headers may have around them; undefined
 * for one that is not in W3C's form.
 */
function toState(text: unknown): string | undefined {
  if (typeof text !== "string" || text.length > MAX_STATE) return undefined;
  const members = text
    .split(",")
    .map((member) => member.trim())
    .filter((member) => member !== "");
  const isValid = members.length > 0 && members.length <= MAX_MEMBERS && members.every((one) => MEMBER.test(one));
  return isValid ? members.join(",") : undefined;
}

/** The headers by which a call of another server becomes a part of a span that is recorded. */
export function traceHeaders({ traceId, spanId, state, isRandom }: SpanContext): Readonly<Record<string, string>> {
  const traceparent = `00-${traceId}-${spanId}-0${isRandom ? SAMPLED | RANDOM : SAMPLED}`;
  return state === undefined ? { traceparent } : { traceparent, tracestate: state };
}

/** The headers of a request that name its trace, to be passed on if this server records nothing. */
export function passedTraceHeaders(metadata: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const { traceparent } = metadata;
  const parent = parentOf(metadata);
  if (traceparent === undefined || parent === undefined) return {};
  return parent.state === undefined ? { traceparent } : { traceparent, tracestate: parent.state };
}

/** The header with what clients attach to a trace for all that take part in it, to be passed on. */
export function passedBaggage({ baggage }: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return baggage === undefined || baggage.length > MAX_BAGGAGE ? {} : { baggage };
}

/** A new trace's id. */
export function newTraceId(): string {
  return randomHex(16);
}

/** A new span's id. */
export function newSpanId(): string {
  return randomHex(8);
}

/** Random bytes that are not used yet: each call of the generator costs more than an id. */
const pool = Buffer.alloc(2048);
let used = pool.length;

function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += bytes;
  return pool.toString("hex", used - bytes, used);
}
