import { expect, test } from "vitest";
import { megabytes } from "../../src/text/megabytes.ts";

test.each([
  [0, "0.0 MB"],
  [12_345_678, "12.3 MB"],
  [853_000_000, "853 MB"],
])("%d bytes are %s", (bytes, text) => {
  expect(megabytes(bytes)).toBe(text);
});
