import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { RepositorySource } from "../../src/server/repository-source.ts";
import { openServer } from "../../src/server/server.ts";
import { withDefaults } from "../../src/server/server-options.ts";
import { createEventLog } from "../helpers/event-log.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const HALF = readFileSync("test/fixtures/models/half-plus-two.onnx");

/** A server of one model, and the number of threads that the process has started since. */
async function start(files: Readonly<Record<string, Buffer>>, pollMs: number) {
  let threads = 0;
  const count = () => void threads++;
  process.on("worker", count);
  onTestFinished(() => void process.off("worker", count));
  const folder = tempFolder(files);
  const { log, find } = createEventLog();
  const source = new RepositorySource({ folders: [folder] }, { pollMs, log });
  const server = await openServer(withDefaults({ listen: false, log }), source);
  onTestFinished(() => server.close());
  await nextTurn();
  return { folder, find, threads: () => threads };
}

describe("the thread of the next version", () => {
  test("is started ahead where versions are looked for, and taken by it", async () => {
    const { folder, find, threads } = await start({ "m/1/model.onnx": HALF }, 50);
    expect(threads()).toBe(2);
    mkdirSync(join(folder, "m/2"));
    writeFileSync(join(folder, "m/2/model.onnx"), HALF);
    await find({ msg: "model state", version: "1", state: "END" });
    expect(threads()).toBe(2);
  });

  test.each([
    ["versions are not looked for", { "m/1/model.onnx": HALF }, 0],
    ["a model has no versions", { "m/model.onnx": HALF }, 3_600_000],
  ])("is not where %s", async (_, files, pollMs) => {
    const { threads } = await start(files, pollMs);
    expect(threads()).toBe(1);
  });
});
