import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ATTACK_ROWS } from "../bench/attack/attack-rows.ts";
import { createKinds } from "../bench/leaks/kinds.ts";

const table = readFileSync("test/README.md", "utf8")
  .split("\n")
  .filter((line) => line.startsWith("| "))
  .slice(2);
const code = (pattern: RegExp) => [...table.join("\n").matchAll(pattern)].map(([, text]) => text as string);

test("the table of faults names files, rows of attacks and kinds of leaks that there are", async () => {
  const files = code(/`([\w/-]+(?:\.long)?(?:\.test)?\.ts)`/g);
  const rows = code(/`([a-z0-9-]+)`/g);
  expect(table.length).toBeGreaterThan(20);
  expect(files.length).toBeGreaterThan(30);
  expect(files.filter((file) => !existsSync(`test/${file}`))).toEqual([]);
  expect(rows.length).toBeGreaterThan(10);
  const names = [...ATTACK_ROWS, ...(await createKinds())].map(({ name }) => name);
  expect(rows.filter((start) => !names.some((name) => name.startsWith(start)))).toEqual([]);
});
