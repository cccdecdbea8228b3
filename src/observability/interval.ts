import type { SpanContext } from "./trace-context.ts";

/**
 * Parts of a request's way through hooks and models. `wait`: for a hook thread; `images`: their decoding; `queue`:
 * waiting for a model; `remote`: a call of another server.
 */
const INTERVAL_KINDS = ["wait", "preprocess", "images", "queue", "model", "postprocess", "process", "remote"] as const;
/** One of {@link INTERVAL_KINDS}. */
export type IntervalKind = (typeof INTERVAL_KINDS)[number];

/** One part of a request, as plain data that crosses threads. */
export interface Interval {
  readonly kind: IntervalKind;
  /** Number of the stage from 1; 0 = of none. */
  readonly stage: number;
  /** On the clock of steadyMs. */
  readonly start: number;
  readonly end: number;
  /**
   * Models whose stages led to it: 0 = the request's own, more = a part of what another
   * model of the server does for it.
   */
  readonly depth: number;
  /** The model of this server, or the address of another server. */
  readonly name?: string | undefined;
  /** Code of the error that ended it. */
  readonly code?: string | undefined;
  /** Its id in a trace, and the one that it is a part of; absent = the one that the timeline belongs to. */
  readonly id?: string | undefined;
  readonly parent?: string | undefined;
  /** Others that the same run of a model served. */
  readonly links?: readonly SpanContext[] | undefined;
}

/** Links of a span, by OpenTelemetry's default. */
export const MAX_LINKS = 128;
/** Characters of an interval's name at most. */
const MAX_NAME = 200;
const ID = /^[\da-f]{16}$/;
const TRACE_ID = /^[\da-f]{32}$/;

/** Checks a part of a request that another thread sent, in which user code may run. */
export function isInterval(value: unknown): value is Interval {
  if (typeof value !== "object" || value === null) return false;
  const { kind, stage, start, end, depth, name, code, id, parent, links } = value as {
    [Key in keyof Interval]?: unknown;
  };
  return (
    INTERVAL_KINDS.includes(kind as never) &&
    isSmallCount(stage) &&
    isSmallCount(depth) &&
    isTime(start) &&
    isTime(end) &&
    Number(start) <= Number(end) &&
    isText(name) &&
    isText(code) &&
    isId(id) &&
    isId(parent) &&
    (links === undefined || (Array.isArray(links) && links.length <= MAX_LINKS && links.every(isSpanContext)))
  );
}

/** Checks a span that another thread refers to. */
export function isSpanContext(value: unknown): boolean {
  const { traceId, spanId, state } = (value ?? {}) as Record<string, unknown>;
  const isOfTrace = typeof traceId === "string" && TRACE_ID.test(traceId) && typeof spanId === "string";
  return isOfTrace && ID.test(spanId) && (state === undefined || typeof state === "string");
}

function isSmallCount(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) < 10_000;
}

/** Milliseconds of a few decades at most. */
function isTime(value: unknown): boolean {
  return typeof value === "number" && Math.abs(value) < 1e12;
}

function isText(value: unknown): boolean {
  return value === undefined || (typeof value === "string" && value.length <= MAX_NAME);
}

function isId(value: unknown): boolean {
  return value === undefined || (typeof value === "string" && ID.test(value));
}
