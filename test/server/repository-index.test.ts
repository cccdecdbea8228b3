import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { RepositorySource } from "../../src/server/repository-source.ts";
import { openServer } from "../../src/server/server.ts";
import { withDefaults } from "../../src/server/server-options.ts";
import { createEventLog } from "../helpers/event-log.ts";
import { connectKserve } from "../helpers/kserve-grpc.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const HALF = readFileSync("test/fixtures/models/half-plus-two.onnx");
const REFUSED = "bad has the backend fil, for which there is no driver";

/** A server of a repository with two good models and a refused one, that looks at it ten times a second. */
async function start(explicit?: readonly string[]) {
  const folder = tempFolder({
    "half/1/model.onnx": HALF,
    "other/3/model.onnx": HALF,
    "bad/config.pbtxt": 'backend: "fil"',
    "bad/1/model.onnx": HALF,
  });
  const { log, events } = createEventLog();
  const source = new RepositorySource({ folders: [folder] }, { pollMs: 100, log, ...(explicit && { explicit }) });
  const options = withDefaults({ http: {}, allowControl: "local", loadRetries: 5, loadRetryMs: 10, log });
  const server = await openServer(options, source);
  onTestFinished(() => server.close());
  const post = async (path: string, body: object = {}) => {
    const init = { method: "POST", body: JSON.stringify(body) };
    const response = await fetch(`${server.httpUrl}/v2/repository/${path}`, init);
    return [response.status, await response.text()] as const;
  };
  const index = async (body: object = {}) => {
    const lines = JSON.parse((await post("index", body))[1]) as readonly Record<string, string>[];
    return lines.map(({ name, version, state, reason }) => [name, version, state, reason]).sort();
  };
  const badStates = () => events.filter(({ model }) => model === "bad").map(({ state }) => state);
  return { server, folder, post, index, badStates };
}

describe("the index of a repository whose models clients load", () => {
  it("lists every model, loaded or not, with its reason; with ready those that can answer", async () => {
    const { server, post, index } = await start(["half"]);
    const bad = ["bad", "1", "UNAVAILABLE", expect.stringContaining(REFUSED)];
    const half = ["half", "1", "READY", ""];
    expect(await index()).toEqual([bad, half, ["other", "3", "UNAVAILABLE", "not loaded"]]);
    expect(await index({ ready: true })).toEqual([half]);
    const { models } = await connectKserve(server.grpcAddress)("RepositoryIndex", { ready: false });
    expect(models).toHaveLength(3);
    expect(await post("models/other/load")).toEqual([200, ""]);
    expect(await index()).toEqual([bad, half, ["other", "3", "READY", ""]]);
    expect(await post("models/other/unload")).toEqual([200, ""]);
    expect(await index()).toEqual([bad, half, ["other", "3", "UNAVAILABLE", "unloaded"]]);
  });

  it("has all models of the start where * is to be loaded, as Triton has it, and later ones once they are asked for", async () => {
    const { folder, server, post, index } = await start(["*"]);
    const ready = [
      ["half", "1", "READY", ""],
      ["other", "3", "READY", ""],
    ];
    await vi.waitFor(async () => expect(await index({ ready: true })).toEqual(ready));
    cpSync(join(folder, "half"), join(folder, "late"), { recursive: true });
    await server.service.rescan();
    expect(await index({ ready: true })).toEqual(ready);
    expect(await post("models/late/load")).toEqual([200, ""]);
    expect(await index({ ready: true })).toContainEqual(["late", "1", "READY", ""]);
  });

  it("is not there where * is to be loaded beside names", async () => {
    await expect(start(["half", "*"])).rejects.toThrow('--load-model is half, *; expected "*" alone, or names alone.');
  });

  it("has no model that TensorFlow Serving's clients would take for a failed one", async () => {
    const { server } = await start(["half"]);
    expect((await fetch(`${server.httpUrl}/v1/models/other`)).status).toBe(404);
    expect(Object.keys((await (await fetch(`${server.httpUrl}/v1/config`)).json()) as object)).toEqual(["half"]);
  });
});

describe("a model that is refused", () => {
  it("is tried once, until its description changes", async () => {
    const { folder, index, badStates, post } = await start();
    const states = async () => (await index()).map(([name, , state]) => `${name} ${state}`);
    expect(await states()).toEqual(["bad UNAVAILABLE", "half READY", "other READY"]);
    // Whatever is looked at and loaded meanwhile.
    for (let load = 0; load < 5; load++) expect(await post("models/other/load")).toEqual([200, ""]);
    expect(badStates()).toEqual(["START", "LOADING", "END"]);
    writeFileSync(join(folder, "bad/config.pbtxt"), 'backend: "onnxruntime"');
    await expect.poll(states, { timeout: 20_000 }).toEqual(["bad READY", "half READY", "other READY"]);
  });

  it("is loaded again for each client that asks for it, with the reason in the answer", async () => {
    const { badStates, post } = await start(["half"]);
    expect(badStates()).toEqual([]);
    expect(await post("models/bad/load")).toEqual([400, expect.stringContaining(REFUSED)]);
    expect(await post("models/other/load")).toEqual([200, ""]);
    expect(badStates()).toEqual(["START", "LOADING", "END"]);
  });
});
