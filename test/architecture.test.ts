import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { LAYERS } from "../scripts/layers.ts";

const FOLDERS = readdirSync("src", { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : [],
);
/** A row of the page's table: a folder, its purpose, the file to begin with. */
const ROW = /^\| `([a-z-]+)\/` \| .+ \| `([^`]+)` \|$/gm;

test("docs/architecture.md has every folder of src/ in its table, and no other, each with a file that exists", () => {
  const rows = [...readFileSync("docs/architecture.md", "utf8").matchAll(ROW)];
  expect(rows.map(([, folder]) => folder).toSorted()).toEqual(FOLDERS.toSorted());
  const entries = rows.map(([, folder, entry]) => `src/${folder}/${entry}`);
  expect(entries.filter((entry) => !existsSync(entry))).toEqual([]);
});

test("the layers have every folder of src/, and each imports from lower ones alone", () => {
  const order = LAYERS.map(({ folder }) => folder);
  expect(order.toSorted()).toEqual(FOLDERS.toSorted());
  const upward = LAYERS.flatMap(({ folder, mayImport }, index) =>
    mayImport.filter((lower) => order.indexOf(lower) >= index).map((lower) => `${folder} -> ${lower}`),
  );
  expect(upward).toEqual([]);
});

test("the walk of one tensor names files that exist: at most 30 with either protocol", () => {
  const [, walk = ""] = /^## One tensor(.*?)^## /ms.exec(readFileSync("docs/architecture.md", "utf8")) ?? [];
  const files = [...walk.matchAll(/`([a-z/-]+\.ts)`/g)].map(([, file]) => `src/${file}`);
  const without = (protocol: string) => files.filter((file) => !file.startsWith(`src/protocols/${protocol}/`));
  expect(files.length).toBeGreaterThan(30);
  for (const other of ["kserve", "tensorflow-serving"]) expect(without(other).length).toBeLessThanOrEqual(30);
  expect(files.filter((file) => !existsSync(file))).toEqual([]);
});
