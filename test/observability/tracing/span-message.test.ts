import { expect, test } from "vitest";
import { newSpanId, newTraceId } from "../../../src/observability/trace-context.ts";
import { encodeSpans } from "../../../src/observability/tracing/span-message.ts";

test("the links of a span take little room, whatever state clients gave their traces", () => {
  const context = () => ({ traceId: newTraceId(), spanId: newSpanId(), state: `a=${"b".repeat(2000)}` });
  const facts = { name: "model 1", kind: 1, startMs: 1, endMs: 2, attributes: {}, isError: false } as const;
  const message = encodeSpans([{ ...facts, context: context(), links: Array.from({ length: 128 }, context) }], {});
  expect(message.length).toBeLessThan(8000);
});
