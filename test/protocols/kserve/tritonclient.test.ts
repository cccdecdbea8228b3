import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { devNull } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLogger } from "../../../src/observability/logger.ts";
import { createServer, type Server } from "../../../src/server/server.ts";
import { missingPython, PYTHON } from "../../helpers/missing-python.ts";
import { hasSharedMemory } from "../../helpers/shared-object.ts";

const SCRIPT = fileURLToPath(new URL("tritonclient_checks.py", import.meta.url));
const CHECKS = [...readFileSync(SCRIPT, "utf8").matchAll(/^def check_(\w+)/gm)].map(([, name]) => name as string);
const MODELS = {
  echo: { driver: "null" },
  half: { driver: "onnx", path: "test/fixtures/models/half-plus-two.onnx" },
  text: { driver: "onnx", path: "test/fixtures/models/identity-string.onnx" },
};
const missing = missingPython("The client library of Triton", "tritonclient.grpc, tritonclient.http, ml_dtypes");
const run = promisify(execFile);

describe.skipIf(missing)("tritonclient, as it comes from PyPI, sees what it expects:", () => {
  const servers: Server[] = [];
  const problems = new Map<string, string | null>();

  beforeAll(async () => {
    const addresses: Record<string, object> = {};
    for (const [name, model] of Object.entries(MODELS)) {
      const log = createLogger({ path: devNull });
      const choices = { allowControl: "local", allowClientShm: hasSharedMemory, log } as const;
      const server = await createServer({ stages: [model], http: {}, ...choices });
      servers.push(server);
      addresses[name] = { grpc: server.grpcAddress, http: new URL(server.httpUrl as string).host };
    }
    const { stdout } = await run(PYTHON, [SCRIPT, JSON.stringify(addresses)], { timeout: 50_000 });
    for (const line of stdout.trim().split("\n")) {
      const { check, problem } = JSON.parse(line);
      problems.set(check, problem);
    }
  });

  afterAll(async () => {
    await Promise.all(servers.map((server) => server.close()));
  });

  it.each(CHECKS.map((name) => [name.replaceAll("_", " "), name]))("%s", (_, name) => {
    expect(problems.get(`check_${name}`)).toBeNull();
  });
});
