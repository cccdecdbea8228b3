import { expect, test } from "vitest";
import { requestIdOf, sendableId } from "../../src/observability/request-id.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const traceparent = `00-${TRACE}-00f067aa0ba902b7-01`;

test("x-request-id comes first, then the trace id of traceparent", () => {
  expect(requestIdOf({ "x-request-id": "mine", traceparent })).toBe("mine");
  expect(requestIdOf({ traceparent })).toBe(TRACE);
});

test("an id that is too long is cut, and one that a header could not carry does not count", () => {
  expect(requestIdOf({ "x-request-id": "i".repeat(10_000) })).toBe("i".repeat(200));
  for (const id of ["a\u001b[2J", "a\nb", "\u009b2J", "é", "  ", "a\tb"]) {
    expect(requestIdOf({ "x-request-id": id, traceparent })).toBe(TRACE);
  }
});

test.each([
  ["mine", "mine"],
  [" with spaces ", "with spaces"],
  ["i".repeat(300), "i".repeat(200)],
  ["line\r\nSet-Cookie: a=b", undefined],
  ["\u202eabc", undefined],
  ["", undefined],
])("%j is sent as %j", (id, sent) => {
  expect(sendableId(id)).toBe(sent);
});

test.each([
  [{}],
  [{ "x-request-id": "" }],
  [{ traceparent: "00-1234-5678-01" }],
  [{ traceparent: traceparent.replace(TRACE, "0".repeat(32)) }],
  [{ "x-request-id": ["a", "b"] }],
])("%j gets a new id", (metadata) => {
  expect(requestIdOf(metadata)).toMatch(/^[\da-f]{8}-[\da-f-]{27}$/);
  expect(requestIdOf(metadata)).not.toBe(requestIdOf(metadata));
});
