import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Server } from "../../../src/server/server.ts";
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

it("does not look again for who may not change the server", async () => {
  const server = await startServer({ models: { echo: { driver: "null" } } });
  const [status, body] = await ask(server, "POST", "/v1/config/reload");
  expect([status, body.error]).toEqual([403, expect.stringContaining("--allow-control")]);
});
