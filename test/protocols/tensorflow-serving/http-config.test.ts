import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createSilentLogger } from "../../../src/observability/logger.ts";
import { RepositorySource } from "../../../src/server/repository-source.ts";
import { openServer, type Server } from "../../../src/server/server.ts";
import { withDefaults } from "../../../src/server/server-options.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const HALF = "test/fixtures/models/half-plus-two.onnx";
const OK = { error_code: "OK", error_message: "" };

function addVersion(folder: string, version: number): void {
  mkdirSync(join(folder, String(version)));
  cpSync(HALF, join(folder, String(version), "model.onnx"));
}

async function ask({ httpUrl }: Server, method: string, path: string) {
  const response = await fetch(`${httpUrl}${path}`, { method });
  return [response.status, (await response.json()) as { error?: string }] as const;
}

it("returns the states of all models, and checks their folders again on request", async () => {
  const folder = tempFolder();
  addVersion(folder, 1);
  const echo = { driver: "null" };
  const server = await startServer({ models: { half: { path: folder, versions: "all" }, echo }, allowControl: "all" });
  const available = (version: string) => ({ version, state: "AVAILABLE", status: OK });
  const before = {
    half: { model_version_status: [available("1")] },
    echo: { model_version_status: [available("1")] },
  };
  expect(await ask(server, "GET", "/v1/config")).toEqual([200, before]);
  expect(await ask(server, "POST", "/v1/config/reload")).toEqual([200, before]);
  addVersion(folder, 2);
  const after = { ...before, half: { model_version_status: [available("2"), available("1")] } };
  expect(await ask(server, "POST", "/v1/config/reload")).toEqual([201, after]);
  expect(await ask(server, "GET", "/v1/config")).toEqual([200, after]);
});

it("says why a configuration file is not read again", async () => {
  const model = (name: string) => `models: [{ name: ${name}, driver: "null" }]`;
  const file = join(tempFolder({ "serving.yaml": model("a") }), "serving.yaml");
  const log = createSilentLogger();
  const source = new RepositorySource({ files: [file] }, { pollMs: 0, log });
  const server = await openServer(withDefaults({ http: {}, allowControl: "local", log }), source);
  onTestFinished(() => server.close());
  const reload = () => ask(server, "POST", "/v1/config/reload");
  writeFileSync(file, model("a").replace("driver", "drivr"));
  const [status, { error }] = await reload();
  expect([status, error]).toEqual([
    400,
    expect.stringMatching(/^Reloading config file failed. .*Did you mean "driver"/),
  ]);
  expect(error).not.toContain(file);
  expect(Object.keys((await ask(server, "GET", "/v1/config"))[1])).toEqual(["a"]);
  writeFileSync(file, model("b"));
  expect((await reload())[0]).toBe(201);
  expect((await reload())[0]).toBe(200);
});

it("does not look again for who may not change the server", async () => {
  const server = await startServer({ models: { echo: { driver: "null" } } });
  const [status, body] = await ask(server, "POST", "/v1/config/reload");
  expect([status, body.error]).toEqual([403, expect.stringContaining("--allow-control")]);
});
