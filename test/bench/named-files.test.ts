import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

const NAMED = /"((?:bench|bin|examples|proto|python|scripts|test)\/[\w./-]+\.[a-z]\w*)"/g;

test("files of this repository that benchmarks and scripts name by a path are there", () => {
  const sources = ["bench", "scripts"].flatMap((folder) =>
    readdirSync(folder, { recursive: true }).map((name) => join(folder, String(name))),
  );
  const named = sources
    .filter((source) => source.endsWith(".ts"))
    .flatMap((source) => [...readFileSync(source, "utf8").matchAll(NAMED)].map(([, path = ""]) => ({ source, path })));
  expect(named.length).toBeGreaterThan(30);
  const missing = named.filter(({ source, path }) => !existsSync(path) && !existsSync(join(dirname(source), path)));
  expect(missing).toEqual([]);
});
