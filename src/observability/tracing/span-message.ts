import {
  bytesField,
  doubleField,
  encodeMessage,
  fixed64Field,
  integerField,
  messageField,
  textElement,
  textField,
  type WirePart,
} from "../../tensor/codecs/protobuf/wire-writer.ts";
import { readVersion } from "../../version.ts";
import type { SpanContext } from "../trace-context.ts";

/** Field numbers of OpenTelemetry's messages for traces, by message. */
const FIELDS = {
  request: { resourceSpans: 1 },
  resourceSpans: { resource: 1, scopeSpans: 2 },
  resource: { attributes: 1 },
  scopeSpans: { scope: 1, spans: 2 },
  scope: { name: 1, version: 2 },
  span: {
    traceId: 1,
    spanId: 2,
    state: 3,
    parentId: 4,
    name: 5,
    kind: 6,
    start: 7,
    end: 8,
    attributes: 9,
    events: 11,
    links: 13,
    status: 15,
  },
  event: { time: 1, name: 2 },
  link: { traceId: 1, spanId: 2 },
  status: { code: 3 },
  attribute: { key: 1, value: 2 },
  value: { text: 1, integer: 3, double: 4 },
} as const;

const VERSION = readVersion();
/** OpenTelemetry's status for what failed. */
const STATUS_ERROR = 2;

/** Encodes spans of one process as OpenTelemetry's ExportTraceServiceRequest. */
export function encodeSpans(spans: readonly Span[], resource: Attributes): Buffer {
  const scope = messageField(FIELDS.scopeSpans.scope, [
    textField(FIELDS.scope.name, "kserving"),
    textField(FIELDS.scope.version, VERSION),
  ]);
  const all = spans.map((span) => messageField(FIELDS.scopeSpans.spans, spanParts(span)));
  return encodeMessage([
    messageField(FIELDS.request.resourceSpans, [
      messageField(FIELDS.resourceSpans.resource, attributeParts(FIELDS.resource.attributes, resource)),
      messageField(FIELDS.resourceSpans.scopeSpans, [scope, ...all]),
    ]),
  ]);
}

function spanParts(span: Span): WirePart[] {
  const { context, parentId, name, kind, startMs, endMs, attributes, events = [], links = [], isError } = span;
  const fields = FIELDS.span;
  return [
    bytesField(fields.traceId, Buffer.from(context.traceId, "hex")),
    bytesField(fields.spanId, Buffer.from(context.spanId, "hex")),
    textField(fields.state, context.state ?? ""),
    ...(parentId === undefined ? [] : [bytesField(fields.parentId, Buffer.from(parentId, "hex"))]),
    textField(fields.name, name),
    integerField(fields.kind, kind),
    fixed64Field(fields.start, toNanoseconds(startMs)),
    fixed64Field(fields.end, toNanoseconds(endMs)),
    ...attributeParts(fields.attributes, attributes),
    ...events.map((event) => messageField(fields.events, eventParts(event))),
    ...links.map((link) => messageField(fields.links, linkParts(link))),
    ...(isError ? [messageField(fields.status, [integerField(FIELDS.status.code, STATUS_ERROR)])] : []),
  ];
}

function eventParts({ name, atMs }: SpanEvent): WirePart[] {
  const { event } = FIELDS;
  return [fixed64Field(event.time, toNanoseconds(atMs)), textField(event.name, name)];
}

/** Without the trace's state, which clients choose: a span has up to 128 links, and a message hundreds of spans. */
function linkParts({ traceId, spanId }: SpanContext): WirePart[] {
  const { link } = FIELDS;
  return [bytesField(link.traceId, Buffer.from(traceId, "hex")), bytesField(link.spanId, Buffer.from(spanId, "hex"))];
}

function attributeParts(field: number, attributes: Attributes): WirePart[] {
  return Object.entries(attributes).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const key = textElement(FIELDS.attribute.key, name);
    return [messageField(field, [key, messageField(FIELDS.attribute.value, [valuePart(value)])])];
  });
}

function valuePart(value: string | number): WirePart {
  if (typeof value === "string") return textElement(FIELDS.value.text, value);
  return Number.isSafeInteger(value) && value !== 0 ? integerField(FIELDS.value.integer, value) : zeroOrDouble(value);
}

/** Of the kinds of a value one has to be there, which a zero would not. */
function zeroOrDouble(value: number): WirePart {
  if (value !== 0) return doubleField(FIELDS.value.double, value);
  const tag = FIELDS.value.integer << 3;
  return { size: 2, write: (target, at) => target.writeUInt8(0, target.writeUInt8(tag, at)) };
}

/** A double of milliseconds since the epoch is exact to microseconds. */
function toNanoseconds(ms: number): bigint {
  return BigInt(Math.max(0, Math.round(ms * 1000))) * 1000n;
}

/** Kinds of spans, by OpenTelemetry's numbers. */
export const SPAN_KIND = { internal: 1, server: 2, client: 3 } as const;

/** Values of a span's attributes; undefined = it has not got the attribute. */
export type Attributes = Readonly<Record<string, string | number | undefined>>;

/** A moment of a span. */
interface SpanEvent {
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
}

/** A part of a trace that is over. */
export interface Span {
  readonly context: SpanContext;
  /** Id of the span that it is a part of; absent = it is the first of its trace. */
  readonly parentId?: string | undefined;
  readonly name: string;
  readonly kind: (typeof SPAN_KIND)[keyof typeof SPAN_KIND];
  /** Milliseconds since the epoch. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  readonly events?: readonly SpanEvent[] | undefined;
  readonly links?: readonly SpanContext[] | undefined;
  /** True if it failed. */
  readonly isError: boolean;
}
