import { describe, expect, it } from "vitest";
import { growthOf } from "../../deploy/cluster/load/throughput.ts";

describe("the growth of a throughput", () => {
  it("is twice as high at the end of the first three seconds that are", () => {
    const perSecond = [2, 10, 10, 10, 10, 12, 20, 20, 20, 30, 30, 30, 5];
    expect(growthOf({ perSecond })).toEqual({ before: 10, after: 30, secondsToTwice: 9 });
  });

  it("counts a second without an answer as none", () => {
    expect(growthOf({ perSecond: [1, 3, 3, 3, null, null, null, 3, 3] })).toMatchObject({ before: 3, after: 1 });
  });

  it("is never twice as high where it stays", () => {
    expect(growthOf({ perSecond: [9, 10, 10, 10, 10, 11, 10, 9] }).secondsToTwice).toBeUndefined();
  });
});
