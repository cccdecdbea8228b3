import { type ChildProcessByStdio, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createServer, type Server } from "../../../src/server/server.ts";
import { missingRuntime } from "../../drivers/missing-runtime.ts";
import { tensorflowRuntime } from "../../drivers/tensorflow/native/tensorflow-runtime.ts";
import { missingTensorflow, TENSORFLOW_PYTHON } from "../../helpers/tensorflow-python.ts";

const SCRIPT = fileURLToPath(new URL("serving_api_checks.py", import.meta.url));
const CHECKS = [...readFileSync(SCRIPT, "utf8").matchAll(/^ {4}def check_(\w+)/gm)].map(([, name]) => name as string);

const title = "The client library of TensorFlow Serving";
const missing = missingTensorflow(title) ?? (await missingRuntime(title, tensorflowRuntime));

describe.skipIf(missing)("tensorflow-serving-api, as it comes from PyPI, sees what it expects:", () => {
  const folder = mkdtempSync(join(tmpdir(), "kserving-test-"));
  const problems = new Map<string, string | null>();
  let server: Server;

  beforeAll(async () => {
    const python = spawn(TENSORFLOW_PYTHON, [SCRIPT, folder], { stdio: ["pipe", "pipe", "inherit"] });
    const lines = createInterface(python.stdout)[Symbol.asyncIterator]();
    expect((await lines.next()).value).toBe("saved");
    server = await serve(folder);
    (python as ChildProcessByStdio<Writable, Readable, null>).stdin.end(`${server.grpcAddress}\n`);
    for await (const line of lines) {
      const { check, problem } = JSON.parse(line);
      problems.set(check, problem);
    }
  });

  afterAll(async () => {
    await server?.close();
    rmSync(folder, { recursive: true });
  });

  it.each(CHECKS.map((name) => [name.replaceAll("_", " "), name]))("%s", (_, name) => {
    expect(problems.get(`check_${name}`)).toBeNull();
  });
});

async function serve(folder: string): Promise<Server> {
  const options = { engine: "native", tensorflow_lib: await tensorflowRuntime() };
  return createServer({
    models: {
      saved: { path: join(folder, "1"), options },
      onnx: { path: "test/fixtures/models/half-plus-two.onnx" },
    },
    allowControl: "local",
  });
}
