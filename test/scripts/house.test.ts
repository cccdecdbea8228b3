import { expect, test } from "vitest";
import { MEASURES, smallNeighbours, toHouse } from "../../scripts/house/measures.ts";
import type { Source } from "../../scripts/house/read-sources.ts";

const source = (path: string, lines: number, ...imports: string[]): Source => ({
  ...{ path, lines, imports: new Set(imports), names: new Set(), calls: new Set(), types: [] },
  ...{ comments: () => [], casts: 0, exports: { all: 1, documented: 1 } },
});

test("a small file that only its neighbour imports is counted; one that others import, or that is large, is not", () => {
  const house = toHouse([
    source("src/a/user.ts", 100, "src/a/small.ts", "src/a/shared.ts", "src/a/large.ts", "src/b/elsewhere.ts"),
    source("src/b/other.ts", 100, "src/a/shared.ts"),
    ...["src/a/small.ts", "src/a/shared.ts", "src/b/elsewhere.ts"].map((path) => source(path, 40)),
    source("src/a/large.ts", 41),
  ]);
  expect(smallNeighbours(house)).toEqual(["src/a/small.ts"]);
  const figures = new Map(MEASURES.map(({ point, figure }) => [point, figure(house)]));
  expect(figures.get("% of files with one importer")).toBe(50);
  expect(figures.get("folders in src")).toBe(2);
  expect(figures.get("median of their lines")).toBe(41);
});

test("no bound is beyond its goal, and each point has its own name", () => {
  expect(MEASURES.filter(({ bound, goal, atLeast }) => !atLeast && bound < goal)).toEqual([]);
  expect(new Set(MEASURES.map(({ point }) => point)).size).toBe(MEASURES.length);
});
