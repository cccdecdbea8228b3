import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
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

/** A server of a folder that is not polled; `versions` are the loaded and loading ones: `m 1 (generation)`. */
async function startAlone(files: Readonly<Record<string, string | Buffer>>, explicit?: readonly string[]) {
  const folder = tempFolder(files);
  const { log, events } = createEventLog();
  const source = new RepositorySource({ folders: [folder] }, { pollMs: 0, log, ...(explicit && { explicit }) });
  const server = await openServer(withDefaults({ http: {}, allowControl: "local", log }), source);
  onTestFinished(() => server.close());
  const versions = () =>
    server
      .models()
      .filter(({ state }) => state !== "UNLOADING" && state !== "END")
      .map(({ name, version, generation }) => `${name} ${version} (${generation})`)
      .sort();
  const control = async (path: string) => {
    const response = await fetch(`${server.httpUrl}/v2/repository/models/${path}`, { method: "POST", body: "{}" });
    return [response.status, await response.text()];
  };
  const add = (name: string, file: string | Buffer = HALF) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), file);
  };
  const rescan = () => server.service.rescan();
  const told = () => events.flatMap(({ level, msg }) => (level === "error" ? msg : []));
  return { folder, server, versions, control, add, rescan, told };
}

const ENSEMBLE = `platform: "ensemble"
input [{ name: "x", data_type: TYPE_FP32, dims: [-1] }]
output [{ name: "y", data_type: TYPE_FP32, dims: [-1] }]
ensemble_scheduling { step [{ model_name: "a", model_version: -1,
  input_map { key: "x", value: "x" }, output_map { key: "y", value: "y" } }] }`;

describe("the load of a model that a client asks for", () => {
  test.each([
    ["where clients choose the models", ["a", "b"]],
    ["where folders are looked at only then", undefined],
  ])("leaves the others as they are, %s, until all are looked for", async (_, explicit) => {
    const { folder, versions, control, add, rescan } = await startAlone(
      { "a/1/model.onnx": HALF, "b/1/model.onnx": HALF, "d/1/model.onnx": HALF },
      explicit,
    );
    const others = explicit === undefined ? ["d 1 (1)"] : [];
    add("a/2/model.onnx");
    add("b/2/model.onnx");
    add("c/1/model.onnx");
    rmSync(join(folder, "d"), { recursive: true });
    expect(await control("a/load")).toEqual([200, ""]);
    expect(versions()).toEqual(["a 2 (1)", "b 1 (1)", ...others]);
    await rescan();
    await expect
      .poll(versions, { timeout: 20_000 })
      .toEqual(["a 2 (1)", "b 2 (1)", ...(explicit === undefined ? ["c 1 (1)"] : [])]);
  });

  test("takes the models that it needs as they are then, where they are not loaded", async () => {
    const { versions, control, add } = await startAlone({ "a/1/model.onnx": HALF }, ["a"]);
    expect(await control("a/unload")).toEqual([200, ""]);
    add("a/2/model.onnx");
    add("e/config.pbtxt", ENSEMBLE);
    add("e/1/empty", "");
    expect(await control("e/load")).toEqual([200, ""]);
    expect(versions()).toEqual(["a 2 (1)", "e 1 (1)"]);
  });
});

test("a model that a client has unloaded, and that goes and comes back, waits for a client", async () => {
  const { folder, versions, control, add, rescan } = await startAlone(
    { "a/1/model.onnx": HALF, "b/1/model.onnx": HALF },
    ["a", "b"],
  );
  expect(await control("b/unload")).toEqual([200, ""]);
  rmSync(join(folder, "b"), { recursive: true });
  await rescan();
  add("b/1/model.onnx");
  await rescan();
  expect(await control("a/load")).toEqual([200, ""]);
  expect(versions()).toEqual(["a 1 (2)"]);
  expect(await control("b/load")).toEqual([200, ""]);
  expect(versions()).toEqual(["a 1 (2)", "b 1 (1)"]);
});

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

test("a folder that gets the name of the program's own model is told once, and changes neither that nor the others", async () => {
  const { server, versions, add, rescan, told } = await startAlone({ "a/1/model.onnx": HALF });
  const own = tempFolder({ "2/model.onnx": HALF });
  await server.load("b", { path: own });
  add("b/1/model.onnx");
  add("c/1/model.onnx");
  for (let count = 0; count < 2; count++) {
    await rescan();
    await expect.poll(versions, { timeout: 20_000 }).toEqual(["a 1 (1)", "b 2 (1)", "c 1 (1)"]);
  }
  expect(told()).toEqual([
    'The model "b" is described by the program or a client and by the files and folders of models; expected each name once. The first one counts.',
  ]);
});
