import { readFileSync } from "node:fs";
import { describe, expect, it, test } from "vitest";
import type { Command } from "./history.ts";
import { KNOWN_FAULTS } from "./known-faults.ts";
import { makeHistory } from "./make-history.ts";
import { MUTANTS } from "./mutants.ts";
import { DAY } from "./quiet-history.ts";
import { type Report, simulate } from "./simulate.ts";

const SEEDS = 100;

const textsOf = ({ violations }: Report) => violations.map(({ message }) => message);

describe("what is served, through histories that chance makes", () => {
  it(`keeps all its promises in the first ${SEEDS} of them`, async () => {
    const broken: string[] = [];
    for (let seed = 1; seed <= SEEDS; seed++) {
      const [first] = (await simulate(makeHistory(seed))).violations;
      if (first !== undefined) broken.push(`npm run check -- simulation --seed ${seed}: ${first.message}`);
    }
    expect(broken).toEqual([]);
  }, 180_000);

  it("is the same each time", async () => {
    const [one, other] = [await simulate(makeHistory(7)), await simulate(makeHistory(7))];
    expect(one.trace.length).toBeGreaterThan(20);
    expect(other.trace).toEqual(one.trace);
  });

  it.each(KNOWN_FAULTS)("still has the known fault that $what", async ({ history, violates, shape }) => {
    const report = await simulate(history);
    expect(textsOf(report)).toEqual([]);
    expect(report.known).toContainEqual(expect.objectContaining({ id: violates, shape }));
  });
});

test.each(MUTANTS)("a server that $what can be made", ({ file, from }) => {
  const text = readFileSync(new URL(`../../../src/serving/${file}`, import.meta.url), "utf8");
  expect(text.split(from)).toHaveLength(2);
});

const one = (name: string, print: string, more = {}) => ({ name, versions: [{ version: 1, print, ...more }] });

describe("a fault that was mended", () => {
  test("a copy that was replaced is not loaded for a client that has left", async () => {
    const tower = one("tower", "p9", { isFetched: true });
    const report = await simulate({
      ...makeHistory(732026338),
      limits: { ...DAY.limits, loadThreads: 1 },
      ...{ faults: {}, delays: [0, 1, 5] },
      commands: [
        { at: 2204, do: "wish", models: [{ ...tower, idleMs: 50 }] },
        { at: 3204, do: "load", model: "tower" },
        { at: 3268, do: "keep", model: "tower", forMs: 1000 },
        { at: 3268, do: "ask", model: "tower", leavesAfterMs: 1 },
        { at: 3268, do: "load", model: "tower" },
      ],
    });
    expect(textsOf(report)).toEqual([]);
  });

  test("no request fails while a stage's model gives way to another, which takes long to load", async () => {
    const asks = Array.from(
      { length: 800 },
      (_, index): Command => ({ at: 100 + 10 * index, do: "ask", model: "chain" }),
    );
    const before = { at: 0, do: "wish", models: [one("old", "p1"), one("chain", "p2", { needs: ["old"] })] } as const;
    const after = { at: 1000, do: "wish", models: [one("new", "p3"), one("chain", "p4", { needs: ["new"] })] } as const;
    const report = await simulate({
      ...DAY,
      given: { "load new/1 p3": [{ ms: 5000 }] },
      commands: [before, after, ...asks],
    });
    expect(textsOf(report)).toEqual([]);
    expect(Object.fromEntries(report.ends)).toEqual({ answered: asks.length });
  });

  test("a model whose load waits for a place is loaded at once for the load that has the place", async () => {
    const caller = one("chain", "p2", { calls: ["a"], warms: true });
    const report = await simulate({
      ...DAY,
      given: { "open chain/1 p2": [{ ms: 50 }] },
      commands: [
        { at: 0, do: "wish", models: [{ ...one("a", "p1"), idleMs: 100 }] },
        { at: 1000, do: "wish", models: [{ ...one("a", "p1"), idleMs: 100 }, caller] },
        { at: 1020, do: "ask", model: "a" },
      ],
    });
    expect(textsOf(report)).toEqual([]);
    expect(report.trace.filter((step) => step.endsWith(" is over"))).toEqual([
      expect.stringContaining("wish 0"),
      expect.stringMatching(/^ +10\d\d request 2/),
      expect.stringMatching(/^ +10\d\d wish 1/),
    ]);
  });

  test("hooks that were read before others are wanted do not count as those once these have failed to be read", async () => {
    const report = await simulate({
      ...DAY,
      limits: { ...DAY.limits, loadRetries: 1 },
      given: { "hooks a/1 1": [{ ms: 50 }], "hooks a/1 2": [{ outcome: "fails" }] },
      commands: [
        { at: 0, do: "wish", models: [one("a", "p1", { hooks: 1 })] },
        { at: 100, do: "reload hooks" },
        { at: 110, do: "wish", models: [one("a", "p1", { hooks: 2 })] },
      ],
    });
    expect(textsOf(report)).toEqual([]);
    expect(report.trace).toContainEqual(expect.stringContaining("hooks a/1 2 #1 ends"));
  });

  test("hooks whose change was given up are read again, though the files are those that were loaded", async () => {
    const wish = (at: number, hooks: number) => ({ at, do: "wish", models: [one("a", "p1", { hooks })] }) as const;
    const given = { "hooks a/1 2": [{ ms: 50 }] };
    const report = await simulate({ ...DAY, given, commands: [wish(0, 1), wish(100, 2), wish(110, 1)] });
    expect(textsOf(report)).toEqual([]);
    expect(report.trace.filter((step) => / hooks a.* ends/.test(step))).toEqual([
      expect.stringContaining("hooks a/1 2 #0"),
      expect.stringContaining("hooks a/1 1 #0"),
    ]);
  });

  test("hooks that are replaced while a load rests are read again if the files before that load are wanted meanwhile", async () => {
    const wish = (at: number, print: string, hooks: number) =>
      ({ at, do: "wish", models: [one("a", print, { hooks })] }) as const;
    const report = await simulate({
      ...DAY,
      limits: { ...DAY.limits, loadRetries: 1, loadRetryMs: 1000 },
      given: { "open a/1 p2+2": [{ outcome: "fails" }], "hooks a/1 2": [{ ms: 50 }] },
      commands: [wish(0, "p1", 1), wish(100, "p2", 2), { at: 150, do: "reload hooks" }, wish(160, "p1", 1)],
    });
    expect(textsOf(report)).toEqual([]);
    expect(report.trace.filter((step) => / hooks a.* ends/.test(step))).toEqual([
      expect.stringContaining("hooks a/1 2 #0"),
      expect.stringContaining("hooks a/1 1 #0"),
    ]);
  });

  test("a model that is loaded again for another one that it needs is tried again if that fails", async () => {
    const chain = one("chain", "p2", { needs: ["a"] });
    const wish = (at: number, print: string, takes: string) =>
      ({ at, do: "wish", models: [one("a", print, { takes }), chain] }) as const;
    const report = await simulate({
      ...DAY,
      limits: { ...DAY.limits, loadRetries: 1 },
      given: { "open chain/1 p2": [{}, { outcome: "fails" }] },
      commands: [wish(0, "p1", "x"), wish(100, "p3", "y")],
    });
    expect(textsOf(report)).toEqual([]);
    expect(report.trace).toContainEqual(expect.stringContaining("open chain/1 p2 #1 fails"));
    expect(report.trace).toContainEqual(expect.stringContaining("open chain/1 p2 #2 ends"));
  });

  test("a request that has leased an unloaded version runs in what replaces it, which is not loaded for that", async () => {
    const wish = (at: number, print: string) =>
      ({ at, do: "wish", models: [{ ...one("a", print), idleMs: 500 }] }) as const;
    const ask = { at: 600, do: "ask", model: "a", bodyMs: 200 } as const;
    const report = await simulate({ ...DAY, commands: [wish(0, "p1"), ask, wish(610, "p2")] });
    expect(textsOf(report)).toEqual([]);
    expect(report.trace.filter((step) => step.includes(" load a/1 p2 "))).toHaveLength(2);
    expect(Object.fromEntries(report.ends)).toEqual({ answered: 1 });
  });

  test("statistics are told while a model that gives its memory back does not end", async () => {
    const report = await simulate({
      ...DAY,
      given: { "close a/1 p1": [{ outcome: "hangs" }] },
      commands: [
        { at: 0, do: "wish", models: [{ ...one("a", "p1"), idleMs: 100 }] },
        { at: 1000, do: "statistics" },
      ],
    });
    expect(textsOf(report)).toEqual([]);
    expect(report.trace).toContainEqual(expect.stringMatching(/1000 statistics is over/));
  });
});
