import { cpSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { RepositorySource } from "../../src/server/repository-source.ts";
import { openServer } from "../../src/server/server.ts";
import { withDefaults } from "../../src/server/server-options.ts";
import { connectKserve } from "../helpers/kserve-grpc.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const MODELS = "test/fixtures/models";
const post = async (url: string, body: string) => {
  const response = await fetch(url, { method: "POST", body });
  return [response.status, await response.text()] as const;
};

describe("names of models", () => {
  const names = [
    "a/b",
    "a:b",
    "a:predict",
    "50%",
    "%2F",
    "two words",
    "naïve 名前",
    "../etc/passwd",
    "a?b#c",
    "__proto__",
  ];

  it.each(names)("such as %j are served under every protocol, decoded once", async (name) => {
    const named = (text: string) => ({ driver: "null", hooks: { process: () => ({ name: text }) } });
    const models = Object.fromEntries([
      [name, named(name)],
      ["other", named("other")],
    ]);
    const { httpUrl, grpcAddress } = await startServer({ models });
    const coded = encodeURIComponent(name);
    expect(await post(`${httpUrl}/v1/models/${coded}:predict`, '{"inputs": {}}')).toEqual([
      200,
      expect.stringContaining(JSON.stringify(name)),
    ]);
    const answer = await post(`${httpUrl}/v2/models/${coded}/infer`, '{"inputs": []}');
    expect([answer[0], JSON.parse(answer[1]).model_name]).toEqual([200, name]);
    expect(await post(`${httpUrl}/predict/${coded}`, '{"inputs": {}}')).toEqual([200, JSON.stringify({ name })]);
    expect((await connectKserve(grpcAddress)("ModelMetadata", { name })).name).toBe(name);
    const twice = encodeURIComponent(coded);
    const isOther = twice !== coded;
    expect((await post(`${httpUrl}/v1/models/${twice}:predict`, '{"inputs": {}}'))[0]).toBe(isOther ? 404 : 200);
  });
});

describe("versions that a client asks for", () => {
  it.each(["-1", "9223372036854775808", "1.0", "0x1", "%31x", "999999999999999999999999"])(
    "such as %s are none, on every route",
    async (version) => {
      const { httpUrl } = await startServer({ models: { m: { driver: "null" }, n: { driver: "null" } } });
      const bodies = { v1: '{"inputs": {}}', v2: '{"inputs": []}' };
      const answers = [
        post(`${httpUrl}/v1/models/m/versions/${version}:predict`, bodies.v1),
        post(`${httpUrl}/v2/models/m/versions/${version}/infer`, bodies.v2),
        post(`${httpUrl}/predict/m/serving_default/${version}`, bodies.v1),
      ];
      for (const answer of answers) expect([400, 404]).toContain((await answer)[0]);
    },
  );
});

/** Serves a folder of models, which is scanned on request. */
async function serveFolder(folder: string) {
  const log = createSilentLogger();
  const source = new RepositorySource({ folders: [folder] }, { pollMs: 0, log });
  const server = await openServer(withDefaults({ http: {}, loadRetries: 0, log }), source);
  onTestFinished(() => server.close());
  return server;
}

describe("a folder of models", () => {
  it("whose disk goes away and comes back serves on, also where links lead in circles", async () => {
    const folder = tempFolder();
    const disk = join(folder, "disk");
    mkdirSync(join(disk, "m/1"), { recursive: true });
    cpSync(join(MODELS, "half-plus-two.onnx"), join(disk, "m/1/model.onnx"));
    symlinkSync(disk, join(disk, "m/1/up"));
    symlinkSync("round", join(disk, "round"));
    const server = await serveFolder(disk);
    const ask = () => post(`${server.httpUrl}/v1/models/m:predict`, '{"inputs": [2]}');
    renameSync(disk, `${disk}-away`);
    await server.service.rescan();
    expect((await ask())[0]).toBe(200);
    renameSync(`${disk}-away`, disk);
    await server.service.rescan();
    expect((await ask())[0]).toBe(200);
    const { generation } = server.models().find(({ name }) => name === "m") ?? {};
    expect(generation).toBe(1);
  });
});

describe("a version whose init_hook fails each time", () => {
  it("leaves the one before it in place, is loaded again, and is reported", async () => {
    const folder = tempFolder({ "1/hooks.ts": "export const process = () => ({ v: 1 });" });
    const server = await startServer({
      models: { m: { path: folder, driver: "null" } },
      loadRetries: 2,
      loadRetryMs: 1,
    });
    const states: string[] = [];
    server.onState(({ version, state, error }) => states.push(`${version} ${state} ${error?.message ?? ""}`));
    mkdirSync(join(folder, "2"));
    writeFileSync(join(folder, "2/hooks.ts"), "export const init_hook = () => { throw new Error('no labels'); };");
    await server.service.rescan();
    await expect.poll(() => states.filter((state) => state.startsWith("2 END")), { timeout: 20_000 }).toHaveLength(1);
    const tries = states.filter((state) => state.includes("init_hook failed: no labels"));
    expect(tries.length).toBeGreaterThanOrEqual(3);
    expect(await post(`${server.httpUrl}/v1/models/m:predict`, '{"inputs": {}}')).toEqual([
      200,
      expect.stringContaining("1"),
    ]);
    expect(server.models()).toMatchObject([
      { version: 2n, state: "END", error: { message: expect.stringContaining("no labels") } },
      { version: 1n, state: "AVAILABLE" },
    ]);
  });
});

describe("loads of one model that are asked for at once", () => {
  it("come one after the other, and all succeed", async () => {
    const path = join(MODELS, "half-plus-two.onnx");
    const server = await startServer({ models: { m: { path } } });
    await Promise.all(Array.from({ length: 8 }, () => server.load("m")));
    expect(server.models()).toMatchObject([{ name: "m", state: "AVAILABLE" }]);
    expect((await post(`${server.httpUrl}/v1/models/m:predict`, '{"inputs": [2]}'))[0]).toBe(200);
  });
});
