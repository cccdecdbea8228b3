import { expect, test } from "vitest";
import { parentOf, passedBaggage, passedTraceHeaders, traceHeaders } from "../../src/observability/trace-context.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const traceparent = `00-${TRACE}-${SPAN}-01`;

test.each([
  ["a=1,b=2", "a=1,b=2"],
  ["a=1\t \t,\t b=2 ", "a=1,b=2"],
  [", a=1", "a=1"],
  ["a=1, ", "a=1"],
  ["0t@v=x y", "0t@v=x y"],
  ["", undefined],
  ["A=1", undefined],
  ["a =1", undefined],
  ["@a=1,b=2", undefined],
  ["a=1=2", undefined],
  ["a=,b=2", undefined],
  ["a=\u00e9", undefined],
  [`${"a".repeat(257)}=1`, undefined],
  [Array.from({ length: 33 }, (_, index) => `a${index}=1`).join(), undefined],
])("the trace state %j is passed on as %j", (tracestate, passed) => {
  expect(parentOf({ traceparent, tracestate })).toMatchObject({ traceId: TRACE, state: passed });
  expect(passedTraceHeaders({ traceparent, tracestate }).tracestate).toBe(passed);
});

test.each([
  ["00", "01"],
  ["01", "01"],
  ["02", "03"],
  ["03", "03"],
])("a trace with the flags %s goes on with %s where it is recorded", (given, sent) => {
  const parent = parentOf({ traceparent: `00-${TRACE}-${SPAN}-${given}` })!;
  expect(traceHeaders(parent)).toEqual({ traceparent: `00-${TRACE}-${SPAN}-${sent}` });
});

test.each(["00-1234-5678-01", `00-${"0".repeat(32)}-${SPAN}-01`, `${traceparent}, ${traceparent}`, "x".repeat(5000)])(
  "a traceparent %j is not passed on",
  (alien) => {
    expect(passedTraceHeaders({ traceparent: alien, tracestate: "a=1" })).toEqual({});
  },
);

test("a baggage is passed on unless it is longer than W3C asks for", () => {
  expect(passedBaggage({ baggage: "tenant=ann;p=1, b=2", traceparent })).toEqual({ baggage: "tenant=ann;p=1, b=2" });
  expect([passedBaggage({}), passedBaggage({ baggage: "a".repeat(8193) })]).toEqual([{}, {}]);
});
