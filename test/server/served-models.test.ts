import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { RepositorySource } from "../../src/server/repository-source.ts";
import { openServer } from "../../src/server/server.ts";
import { withDefaults } from "../../src/server/server-options.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const HALF = readFileSync("test/fixtures/models/half-plus-two.onnx");

/** A server of a folder, to which a platform adds version 7 of the model `b`, and takes it out. */
async function start(files: Readonly<Record<string, Buffer>>, explicit?: readonly string[]) {
  const folder = tempFolder(files);
  const platform = { named: "/platform", path: tempFolder({ "own/7/model.onnx": HALF }), options: {} };
  const log = createSilentLogger();
  const source = new RepositorySource({ folders: [folder] }, { pollMs: 0, log, ...(explicit && { explicit }) });
  const server = await openServer({ ...withDefaults({ http: {}, log }), platform }, source);
  onTestFinished(() => server.close());
  const ask = async (method: string, place: string, body?: object) => {
    const headers = { "content-type": "application/json" };
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const answer = await fetch(`${server.httpUrl}${place}`, init);
    await answer.arrayBuffer();
    return answer.status;
  };
  const add = () => ask("POST", "/models", { model_name: "b", url: "/platform/own" });
  const takeOut = () => ask("DELETE", "/models/b");
  const served = () =>
    server
      .models()
      .flatMap(({ name, version, state }) => (state === "AVAILABLE" ? [`${name} ${version}`] : []))
      .sort();
  return { folder, server, add, takeOut, served };
}

describe("a model of a platform", () => {
  test("that is taken out gives way to that of a folder which has got its name meanwhile", async () => {
    const { folder, server, add, takeOut, served } = await start({ "a/1/model.onnx": HALF });
    expect(await add()).toBe(200);
    mkdirSync(join(folder, "b/1"), { recursive: true });
    writeFileSync(join(folder, "b/1/model.onnx"), HALF);
    await server.service.rescan();
    expect(served()).toEqual(["a 1", "b 7"]);
    expect(await takeOut()).toBe(200);
    await expect.poll(served, { timeout: 20_000 }).toEqual(["a 1", "b 1"]);
  });

  test("that is taken out has not loaded that of a folder which nobody has asked for, and comes back", async () => {
    const { add, takeOut, served } = await start({ "a/1/model.onnx": HALF, "b/1/model.onnx": HALF }, ["a"]);
    for (let count = 0; count < 2; count++) {
      expect(await add()).toBe(200);
      expect(served()).toEqual(["a 1", "b 7"]);
      expect(await takeOut()).toBe(200);
      expect(served()).toEqual(["a 1"]);
    }
  });

  test("is refused where a folder's has its name, which stays", async () => {
    const { add, served } = await start({ "b/1/model.onnx": HALF });
    expect(await add()).toBe(409);
    expect(served()).toEqual(["b 1"]);
  });
});
