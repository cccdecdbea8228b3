import { expect, it } from "vitest";
import { sizeText } from "../../src/text/size-text.ts";

it.each([
  [0, "0 bytes"],
  [1023, "1023 bytes"],
  [1536, "1.5 KB"],
  [12 * 2 ** 20, "12 MB"],
  [2 ** 30, "1 GB"],
  [2 ** 60, "1048576 TB"],
])("%d is %s", (bytes, text) => {
  expect(sizeText(bytes)).toBe(text);
});
