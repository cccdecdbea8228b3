import { fromBinary } from "@bufbuild/protobuf";
import { DurationSchema } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { retryDelayMs, retryInfo } from "../src/retry-info.ts";

test.each([0, 1, 999, 1000, 2500, 3_600_000, 3_000_000_123])("%d ms are there again", (ms) => {
  const detail = retryInfo(ms);
  expect(retryDelayMs([{ type: "type.googleapis.com/other", value: "" }, detail])).toBe(ms);
  const bytes = Buffer.from(detail.value, "base64");
  const { seconds, nanos } = fromBinary(DurationSchema, bytes.subarray(2));
  expect([bytes[0], Number(seconds) * 1000 + nanos / 1e6]).toEqual([0x0a, ms]);
});

test.each([
  ["no details", undefined],
  ["other details", [{ type: "type.googleapis.com/google.rpc.ErrorInfo", value: "" }]],
  ["an empty message", [{ ...retryInfo(1), value: "" }]],
  ["a message that is cut", [{ ...retryInfo(1), value: Buffer.from([0x0a, 2, 0x08, 0x80]).toString("base64") }]],
  ["another field", [{ ...retryInfo(1), value: Buffer.from([0x0a, 2, 0x18, 1]).toString("base64") }]],
  [
    "a time without end",
    [{ ...retryInfo(1), value: Buffer.from([0x0a, 11, 8, ...Array(10).fill(255)]).toString("base64") }],
  ],
])("%s say no time", (_, details) => {
  expect(retryDelayMs(details)).toBeUndefined();
});
