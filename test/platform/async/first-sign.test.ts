import { execFile } from "node:child_process";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { PythonProcess } from "../../../src/drivers/python/python-process.ts";
import { ModelProcess } from "../../../src/models/processes/model-process.ts";
import { createSilentLogger } from "../../../src/observability/logger.ts";
import { expectFirstSign } from "../../../src/platform/async/first-sign.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const SILENCE =
  "said nothing for 0.2 s after its start and was ended; does this machine have processes and threads left";
const log = createSilentLogger();

/** A program that starts, and says nothing. */
function silentProgram(): string {
  const path = join(tempFolder({ silent: "#!/bin/sh\nexec sleep 600\n" }), "silent");
  chmodSync(path, 0o755);
  return path;
}

/** Has processes of models be another program. */
function startInstead(program: string): void {
  const { execPath } = process;
  process.execPath = program;
  onTestFinished(() => {
    process.execPath = execPath;
  });
}

const MODEL = {
  ...{ name: "fragile", driver: { name: "null" }, path: "", options: {}, threads: 1, stallMs: 0 },
  ...{ logged: new SharedArrayBuffer(64), environment: {}, files: undefined },
};

test("who has said something is not ended", async () => {
  const ended: string[] = [];
  expectFirstSign(() => ended.push("first"), 20)();
  await new Promise<void>((resolve) => {
    expectFirstSign(() => {
      ended.push("second");
      resolve();
    }, 40);
  });
  expect(ended).toEqual(["second"]);
});

test.skipIf(process.platform === "win32")("a model whose process says nothing is not loaded", async () => {
  startInstead(silentProgram());
  const started = new ModelProcess({ ...MODEL, firstSignMs: 200 } as never, log);
  await expect(started.load()).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining(`The process of the model fragile ${SILENCE}`),
  });
});

test.skipIf(process.platform === "win32")("an interpreter that says nothing is ended", async () => {
  const options = { python: silentProgram(), threads: 1, timeoutMs: 0, firstSignMs: 200, log };
  const started = await PythonProcess.start(options);
  await expect(started.ask({ op: "ready" })).rejects.toThrow(SILENCE);
  expect(await started.ended).toContain(SILENCE);
});

test.skipIf(process.platform === "win32")("a server whose process says nothing ends with a message", async () => {
  const code = `
    import { supervise } from "./src/cli/supervisor/supervisor.ts";
    const program = ["-e", "setInterval(() => {}, 1e6)"];
    await supervise(program, { env: process.env, marksPath: undefined, secrets: undefined, firstSignMs: 200 });`;
  const ended = promisify(execFile)(process.execPath, ["--import", "tsx", "--input-type=module", "-e", code]);
  await expect(ended).rejects.toMatchObject({
    stderr: `kserving: the server's process ${SILENCE} for it (ulimit -u, a container's pids limit), and time of its processors?\n`,
  });
});
