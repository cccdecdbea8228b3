import { expect, test } from "vitest";
import { RemotePart } from "../../src/observability/remote-part.ts";
import { Timeline } from "../../src/observability/timeline.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const metadata = { traceparent: `00-${TRACE}-00f067aa0ba902b7-00`, tracestate: "a=1", baggage: "tenant=ann" };

test("a call of another server carries the request's trace and baggage where nothing is recorded", () => {
  expect(new RemotePart({ metadata: { ...metadata, other: "x" } }).headers).toEqual(metadata);
});

test("a call of another server is a part of a recorded request's trace, and carries its baggage", () => {
  const timeline = new Timeline({ span: { traceId: TRACE, spanId: "1".repeat(16) } });
  const { headers } = new RemotePart({ metadata, timeline });
  expect(headers).toEqual({
    traceparent: expect.stringMatching(`^00-${TRACE}-[\\da-f]{16}-01$`),
    baggage: "tenant=ann",
  });
});
