import { describe, expect, it } from "vitest";
import { parseSlice, sliceKey } from "../../../../src/drivers/tensorflow/portable/checkpoint.ts";

// partitioned_variable, of portable/equality.test.ts, has keys that TensorFlow wrote.
describe("a variable's slice", () => {
  it("is read from what RestoreV2 is told", () => {
    expect(parseSlice("w", "4 2 2,2:-")).toEqual({
      name: "w",
      parts: [
        { start: 2, length: 2 },
        { start: 0, length: -1 },
      ],
    });
    expect(parseSlice("w", "")).toBeUndefined();
    expect(parseSlice("w", "4 2 2,2")).toBeUndefined();
    expect(parseSlice("w", "4 2:2")).toBeUndefined();
  });

  it("has a key that sorts as its bounds do", () => {
    const starts = [0, 63, 64, 8191, 8192, 1048575, 1048576, 2 ** 40];
    const keys = starts.map((start) => sliceKey({ name: "w", parts: [{ start, length: 1 }] }));
    expect([...keys].sort()).toEqual(keys);
    expect(sliceKey({ name: "w", parts: [{ start: 2, length: -1 }] })).toBe("\0w\0\x01\x01\x01\x82\x7f");
    expect(sliceKey({ name: "w", parts: [{ start: 64, length: 1 }] })).toBe("\0w\0\x01\x01\x01\xc0\x40\x81");
  });

  it("has a key in which a zero of the name does not end it", () => {
    expect(sliceKey({ name: "a\0b", parts: [] })).toBe("\0a\0\xffb\0\x01\0");
  });
});
