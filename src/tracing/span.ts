import type { SpanContext } from "../observability/trace-context.ts";

/** Kinds of spans, by OpenTelemetry's numbers. */
export const SPAN_KIND = { internal: 1, server: 2, client: 3 } as const;

/** Values of a span's attributes; undefined = it has not got the attribute. */
export type Attributes = Readonly<Record<string, string | number | undefined>>;

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
  readonly links?: readonly SpanContext[] | undefined;
  /** True where it failed. */
  readonly isError: boolean;
}
