import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { WatchedFile } from "../../../src/access/authentication/watched-file.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

async function watch(text: string) {
  const path = join(tempFolder({ "rules.yaml": text }), "rules.yaml");
  return { path, file: await WatchedFile.open(path, { what: "file of rules", parse: (read) => read }) };
}

test("a file that is being written counts once it is whole", async () => {
  const { path, file } = await watch("open: [health]\nallow: []\n");
  writeFileSync(path, "open: [health]\n");
  const refreshing = file.refresh();
  await setTimeout(50);
  writeFileSync(path, "open: [health]\nallow: [{who: alice}]\n");
  expect([await refreshing, file.content]).toEqual([false, "open: [health]\nallow: []\n"]);
  expect([await file.refresh(), file.content]).toEqual([true, "open: [health]\nallow: [{who: alice}]\n"]);
});

test("a file that is empty for a moment keeps what it said, and counts as empty at the next look", async () => {
  const { path, file } = await watch("alice:1\n");
  writeFileSync(path, "");
  expect([await file.refresh(), file.content]).toEqual([false, "alice:1\n"]);
  writeFileSync(path, "alice:1\n");
  expect(await file.refresh()).toBe(false);
  writeFileSync(path, "");
  expect([await file.refresh(), file.content]).toEqual([false, "alice:1\n"]);
  expect([await file.refresh(), file.content]).toEqual([true, ""]);
});
