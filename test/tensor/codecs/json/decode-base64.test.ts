import { describe, expect, test } from "vitest";
import { decodeBase64 } from "../../../../src/tensor/codecs/json/decode-base64.ts";

describe("decodeBase64", () => {
  test.each([
    ["", []],
    ["/w==", [255]],
    ["/w", [255]],
    ["+/8=", [251, 255]],
    ["+/8", [251, 255]],
    ["AAEC", [0, 1, 2]],
    ["AA EC\r\n", [0, 1, 2]],
    ["\t/\vw\f=\n= ", [255]],
  ])("decodes %j", (text, bytes) => {
    expect([...(decodeBase64(text) ?? [])]).toEqual(bytes);
    expect(decodeBase64(text)).toBeDefined();
  });

  test("decodes what is larger than any stack", () => {
    const bytes = Buffer.alloc(12_000_000, "kserving");
    expect(bytes.equals(decodeBase64(bytes.toString("base64")) as Uint8Array)).toBe(true);
  });

  test("decodes what has more spaces than there is memory for in a list", () => {
    const memory = process.memoryUsage().heapTotal;
    expect(decodeBase64(" A".repeat(20_000_000))).toHaveLength(15_000_000);
    // A list of what is between the spaces would take 160 MB and more.
    expect(process.memoryUsage().heapTotal - memory).toBeLessThan(120_000_000);
  });

  test.each(["a", "a===", "=", "/w=", "/w===", "AAEC=", "_-8=", "-+8=", "é", "A中AA", "AA=A", "AA*A", "{}"])(
    "refuses %j",
    (text) => {
      expect(decodeBase64(text)).toBeUndefined();
    },
  );
});
