import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { RepositorySource } from "../../src/server/repository-source.ts";
import { openServer } from "../../src/server/server.ts";
import { withDefaults } from "../../src/server/server-options.ts";
import type { ArchiveHooks } from "../../src/serving/repository/archive-hooks.ts";
import { createEventLog } from "../helpers/event-log.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { startWeb } from "../storage/start-web.ts";

const HALF = readFileSync("test/fixtures/models/half-plus-two.onnx");
const HOOKS = "export const postprocess = (outputs) => ({ hooked: outputs.y });";

/** A server with the model `own` of an archive, beside which a client then names `theirs` of another one. */
async function serve(archiveHooks: ArchiveHooks = "own") {
  const archive = execFileSync("tar", ["-czC", tempFolder({ "m.onnx": HALF, "hooks.mjs": HOOKS }), "."]);
  const url = await startWeb((_, response) => response.end(archive));
  const { log } = createEventLog();
  const source = new RepositorySource({ named: [{ name: "own", path: `${url}/own.tar.gz` }] }, { pollMs: 0, log });
  const choices = { modelCache: tempFolder(), loadRetries: 0, http: {}, log, mayBeEmpty: true, archiveHooks };
  const server = await openServer(withDefaults(choices), source);
  onTestFinished(() => server.close());
  const describe = (name: string) => ({ name, path: `${url}/${name}.tar.gz`, versions: "all", labels: {} }) as const;
  await source.replace([describe("own"), describe("theirs")]);
  const outcome = async (name: string) => {
    const body = JSON.stringify({ instances: [1] });
    const response = await fetch(`${server.httpUrl}/v1/models/${name}:predict`, { method: "POST", body });
    const status = await fetch(`${server.httpUrl}/v1/models/${name}`);
    return response.ok ? response.text() : status.text();
  };
  return outcome;
}

const HOOKED = expect.stringMatching(/hooked|2\.5/);

test("the hooks of an archive run where the server's settings name it, and not where a client does", async () => {
  const outcome = await serve();
  expect(await outcome("own")).toEqual(HOOKED);
  await expect
    .poll(() => outcome("theirs"))
    .toMatch(/theirs\.tar\.gz has the hook file hooks\.mjs, code that is not run where a client names the address/);
});

test("--archive-hooks on runs both, and off none", async () => {
  const on = await serve("on");
  expect(await on("own")).toEqual(HOOKED);
  await expect.poll(() => on("theirs")).toEqual(HOOKED);
  await expect(serve("off")).rejects.toThrow(/hooks\.mjs, code that --archive-hooks off refuses\. If you trust it/);
});
