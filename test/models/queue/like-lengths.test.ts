import { describe, expect, test } from "vitest";
import { lengthsBeside, RunCost } from "../../../src/models/queue/like-lengths.ts";

const rows = (...lengths: readonly number[]) => lengths.map((length) => ({ rows: 1, length }));

describe("the lengths of rows that run together", () => {
  test.each<[string, readonly number[], number, number, readonly [number, number]]>([
    ["all, where a run costs more than their padding", [10, 20, 30], 0, 48, [10, 30]],
    ["fewer, the less a run costs", [10, 20, 30], 0, 12, [10, 20]],
    ["one alone, where it costs nothing", [10, 20, 30], 0, 0, [10, 10]],
    ["the longer half of many, whose padding adds up", [30, 12, 30, 12, 31, 11, 30, 12], 0, 48, [30, 31]],
    ["the shorter half of them", [12, 30, 12, 30, 11, 31, 12, 30], 0, 48, [11, 12]],
    ["long ones an eighth apart", [900, 820, 20], 0, 48, [820, 900]],
  ])("are %s", (_, lengths, first, runBytes, expected) => {
    const all = rows(...lengths);
    expect(lengthsBeside(all[first]!, all, { maxRows: 16, runBytes })).toEqual(expected);
  });

  test("count the rows of each request, of which no more go together than fit into a run", () => {
    const all = [...rows(40, 42, 44), { rows: 3, length: 46 }];
    const [first] = all as [(typeof all)[0]];
    expect(lengthsBeside(first, all, { maxRows: 16, runBytes: 48 })).toEqual([40, 46]);
    expect(lengthsBeside(first, all, { maxRows: 4, runBytes: 48 })).toEqual([40, 42]);
    expect(lengthsBeside(all[3]!, all, { maxRows: 2, runBytes: 48 })).toEqual([46, 46]);
  });

  test("may be any numbers that a driver gives", () => {
    for (const length of [Number.NaN, Number.POSITIVE_INFINITY, -1])
      for (const all of [rows(length, 1), rows(length, length), rows(1, length, 2)])
        expect(lengthsBeside(all[0]!, all, { maxRows: 16, runBytes: 48 })).toHaveLength(2);
  });
});

describe("what a run costs besides its rows", () => {
  const learned = (msOf: (bytes: number) => number, sizes: readonly number[], count = 200) => {
    const cost = new RunCost();
    for (let run = 0; run < count; run++) {
      const bytes = sizes[run % sizes.length] ?? 0;
      cost.note(bytes, msOf(bytes));
    }
    return cost.bytes;
  };

  test("is a constant on a processor, however slow that is", () => {
    expect(learned((bytes) => 2 + bytes / 20, [20, 60, 100, 400])).toBe(120);
    expect(learned((bytes) => 200 + bytes * 2, [20, 60, 100, 400])).toBe(120);
    expect(learned((bytes) => bytes / 20, [20, 60, 100])).toBe(120);
  });

  test("is beyond all padding where a run takes its time whatever it has, as on a GPU", () => {
    expect(learned(() => 3, [20, 60, 100, 400])).toBeGreaterThan(100_000);
    expect(learned((bytes) => 3 - bytes / 1000, [20, 60, 100, 400])).toBeGreaterThan(100_000);
    expect(learned((bytes) => 3 + bytes / 1000, [20, 60, 100, 400])).toBeCloseTo(3000);
  });

  test("is that of the latest runs", () => {
    const cost = new RunCost();
    const note = (count: number, msOfByte: number) => {
      for (let run = 0; run < count; run++) {
        const bytes = 20 * (1 + (run % 9));
        cost.note(bytes, 2 + msOfByte * bytes);
      }
    };
    note(2000, 0);
    expect(cost.bytes).toBeGreaterThan(1024);
    note(20_000, 0.05);
    expect(cost.bytes).toBe(120);
  });

  test("is that of a processor before it is known, from few runs or those of one size", () => {
    expect(learned(() => 3, [20, 60, 100, 400], 20)).toBe(120);
    expect(learned(() => 3, [400, 401])).toBe(120);
    expect(learned(() => 3, [0, Number.NaN])).toBe(120);
  });
});
