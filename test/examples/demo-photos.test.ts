import { describe, expect, it } from "vitest";
import { faceMismatch } from "../../scripts/demo-photos.ts";

describe("faceMismatch", () => {
  const expected = [{ box: [100, 100, 200, 200], emotion: "happy" }];

  it("accepts a box that overlaps by 90 % and more", () => {
    expect(faceMismatch([{ box: [102, 101, 201, 202], emotion: "happy" }], expected)).toBeUndefined();
    expect(faceMismatch([], [])).toBeUndefined();
  });

  it("names a wrong number, a wrong emotion and a wrong place", () => {
    expect(faceMismatch([], expected)).toBe("0 faces, expected 1");
    expect(faceMismatch([{ box: [100, 100, 200, 200], emotion: "sad" }], expected)).toBe(
      "face 1 is sad, expected happy",
    );
    expect(faceMismatch([{ box: [106, 106, 206, 206], emotion: "happy" }], expected)).toMatch(/^face 1 is at 106/);
    expect(faceMismatch([{ box: [Number.NaN, 1, 2, 3], emotion: "happy" }], expected)).toMatch(/overlap NaN/);
    expect(faceMismatch([{ box: [500, 500, 600, 600], emotion: "happy" }], expected)).toMatch(/overlap 0.00/);
  });
});
