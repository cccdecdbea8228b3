import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { RepositorySource } from "../../src/server/repository-source.ts";
import { openServer } from "../../src/server/server.ts";
import { withDefaults } from "../../src/server/server-options.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const MODELS = "test/fixtures/models";

it("a folder of 500 models of which one is corrupt serves the others", async () => {
  const folder = tempFolder();
  for (let index = 0; index < 500; index++) {
    mkdirSync(join(folder, `m${index}`));
    const file = index === 250 ? "truncated.onnx" : "half-plus-two.onnx";
    cpSync(join(MODELS, file), join(folder, `m${index}`, "model.onnx"));
  }
  const log = createSilentLogger();
  const source = new RepositorySource({ folders: [folder] }, { pollMs: 0, log });
  const server = await openServer(withDefaults({ http: {}, loadRetries: 0, log }), source);
  onTestFinished(() => server.close());
  const failed = server.models().filter(({ state }) => state !== "AVAILABLE");
  expect(failed).toMatchObject([{ name: "m250", state: "END", error: { code: "failed_precondition" } }]);
  expect(server.models()).toHaveLength(500);
  const answer = await fetch(`${server.httpUrl}/v1/models/m499:predict`, { method: "POST", body: '{"inputs": [2]}' });
  expect(await answer.json()).toEqual({ outputs: [3] });
}, 120_000);
