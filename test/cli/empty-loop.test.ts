import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { tempFolder } from "../helpers/temp-folder.ts";
import { startWeb } from "../storage/start-web.ts";
import { startKserving, writeTestFile } from "./start-kserving.ts";

const DRIVER = "export default { name: 'toy', options: {}, placement: 'inline', load: () => new Promise(() => {}) };";

/** A web server whose first answers break off after ten bytes; the rest are whole. */
function startBreaking(broken: number): Promise<string> {
  const body = JSON.stringify({ inputs: { x: [1] } });
  return startWeb((request, response) => {
    response.writeHead(200, { "content-length": body.length, "content-type": "application/json" });
    if (request.method !== "GET" || broken-- <= 0) response.end(body);
    else response.write(body.slice(0, 10), () => response.destroy());
  });
}

async function placeFor(url: string): Promise<{ readonly config: string; readonly cache: string }> {
  const config = await writeTestFile(
    "models.yaml",
    `models:\n  - name: m\n    driver: "null"\n    path: ${url}/m.null\n`,
  );
  return { config, cache: join(dirname(config), "cache") };
}

test.each([
  ["a model of a configuration", (_: string, config: string) => ["--config", config]],
  ["a pipeline", (url: string) => ["--driver", "null", "--model-path", `${url}/m.null`]],
  ["a model without a supervisor", (_: string, config: string) => ["--config", config, "--no-supervisor"]],
  ["a model that is never polled", (_: string, config: string) => ["--config", config, "--poll-interval=-1"]],
  [
    "a model that a client could load",
    (_: string, config: string) => ["--config", config, "--model-control=explicit", "--load-model=m"],
  ],
  ["a model that is unloaded when idle", (_: string, config: string) => ["--config", config, "--idle-unload=1"]],
  [
    "a server on a Unix socket alone",
    (_: string, config: string) => ["--config", config, `--grpc-socket-path=${config}.s`, "--grpc-socket-only"],
  ],
  ["a server with threads that listen", (_: string, config: string) => ["--config", config, "--listeners=2"]],
])("a download for %s that breaks at the start is tried again until it comes", async (_, flagsFor) => {
  const url = await startBreaking(3);
  const { config, cache } = await placeFor(url);
  const program = startKserving([...flagsFor(url, config), "--port", "0", "--model-cache", cache]);
  await program.event("ready");
  program.kill("SIGTERM");
  expect(await program.ended()).toMatchObject({ code: 0 });
});

test("a download that never comes ends the start with 1 and the reason", async () => {
  const url = await startBreaking(1e9);
  const { cache } = await placeFor(url);
  const program = startKserving([
    "--driver",
    "null",
    "--model-path",
    `${url}/m.null`,
    "--port",
    "0",
    "--model-cache",
    cache,
  ]);
  const ended = await program.ended();
  expect(ended.code).toBe(1);
  expect(ended.stderr).toMatch(/broke off after \d+ bytes/);
});

test("a start that waits for nothing that is alive goes on waiting, and ends by a signal", async () => {
  const driver = await writeTestFile("driver.mjs", DRIVER);
  const program = startKserving(["--driver", driver, "--model-path", driver, "--port", "0"]);
  await program.event("loading");
  program.kill("SIGTERM");
  expect(await program.ended()).toMatchObject({ code: null, signal: "SIGTERM" });
});

const EXITING = {
  "a driver that runs in the main thread": `
    export default {
      name: "leaving", options: {}, placement: "inline", pathless: true,
      load: async () => ({ signatures: { serving_default: {} }, predict: async () => process.exit(), close: async () => {} }),
    };`,
  "a hook that runs in the main thread": "export function preprocess() { process.exit(); }",
};

async function startExiting(kind: keyof typeof EXITING, ...flags: string[]) {
  const file = await writeTestFile("exiting.mjs", EXITING[kind]);
  const own = kind.startsWith("a driver")
    ? ["--driver", file]
    : ["--driver", "null", "--hooks", file, "--workers", "0"];
  const program = startKserving([...own, "--port", "0", "--http-port", "0", "--http-enable", ...flags]);
  const { http } = await program.event("ready");
  const ask = () => fetch(`${http}/v1/models/default:predict`, { method: "POST", body: '{"instances":[1]}' });
  return { program, ask };
}

const EXITED = /"msg":"hooks, a driver or a library have called process\.exit\(\)/;

test.each(Object.keys(EXITING) as (keyof typeof EXITING)[])(
  "%s and exits ends the program with 1, and is told of",
  async (kind) => {
    const { program, ask } = await startExiting(kind, "--no-supervisor");
    await expect(ask()).rejects.toThrow();
    const { code, stdout } = await program.ended();
    expect(code).toBe(1);
    expect(stdout).toMatch(EXITED);
  },
);

test("with a supervisor it is started again, and a stop that is asked for ends it with 0", async () => {
  const { program, ask } = await startExiting("a hook that runs in the main thread");
  await expect(ask()).rejects.toThrow();
  await program.output(EXITED);
  await program.output(/the server's process died \(exit code 1\).* it is started again(?:.*\n)+.*"msg":"ready"/);
  program.kill("SIGTERM");
  expect(await program.ended()).toMatchObject({ code: 0 });
});

test("a driver that exits while it loads ends the start with 1", async () => {
  const driver = await writeTestFile("driver.mjs", DRIVER.replace("new Promise(() => {})", "process.exit(0)"));
  const program = startKserving(["--driver", driver, "--model-path", driver, "--port", "0"]);
  expect((await program.ended()).code).toBe(1);
});

test("a program that is not done never ends with 0", async () => {
  const folder = tempFolder({
    "bin/kserving.cjs": readFileSync(new URL("../../bin/kserving.cjs", import.meta.url)),
    "dist/cli/start.js": "export const start = () => new Promise(() => {});",
    "package.json": '{ "type": "module" }',
  });
  const running = promisify(execFile)(process.execPath, [join(folder, "bin/kserving.cjs")]);
  await expect(running).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining("has nothing left to wait for"),
  });
});
