import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { WatchedFile } from "../../../src/access/authentication/watched-file.ts";
import { invalidArgument } from "../../../src/errors.ts";
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

test("a file of 16 MB is read, and no larger one", async () => {
  const large = "x".repeat(16 * 1024 * 1024);
  expect((await watch(large)).file.content).toHaveLength(large.length);
  await expect(watch(`${large}x`)).rejects.toMatchObject({
    code: "failed_precondition",
    message: expect.stringMatching(/^The file of rules .+ has 16777217 bytes; expected 16777216 at most\.$/),
  });
});

test("a file that is not there, or cannot be meant, is told with its name, and changes nothing", async () => {
  const path = join(tempFolder({ "rules.yaml": "good" }), "rules.yaml");
  const parse = (text: string) => {
    if (text === "bad") throw new Error("no rule");
    if (text === "worse") throw invalidArgument("line 1 is no rule");
    return text;
  };
  const form = { what: "file of rules", parse };
  await expect(WatchedFile.open(`${path}.not`, form)).rejects.toMatchObject({
    ...{
      code: "failed_precondition",
      message: expect.stringMatching(/^The file of rules cannot be read from .+ENOENT/),
    },
  });
  const file = await WatchedFile.open(path, form);
  for (const [text, message] of [
    ["bad", `The file of rules ${path} cannot be read: no rule`],
    ["worse", "line 1 is no rule"],
  ] as const) {
    writeFileSync(path, text);
    await expect(file.refresh()).rejects.toMatchObject({ code: "failed_precondition", message });
    expect([file.path, file.content]).toEqual([path, "good"]);
  }
  writeFileSync(path, "good");
  expect(await file.refresh()).toBe(false);
});
