import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { missingPython, PYTHON } from "../../helpers/missing-python.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const missing = missingPython("The OpenAPI document of KServe V2", "schemathesis, openapi_spec_validator");
const run = promisify(execFile);
const LIMIT_MS = 180_000;
const CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance";

function start() {
  const stages = [{ driver: "onnx", path: "test/fixtures/models/half-plus-two.onnx" }];
  return startServer({ stages, allowClientShm: true });
}

/** Runs a Python module in its own folder; its output is in the error when it fails. */
async function python(module: string, ...args: string[]): Promise<string> {
  const options = { cwd: tempFolder(), timeout: LIMIT_MS, env: { ...process.env, NO_COLOR: "1" } };
  try {
    return (await run(PYTHON, ["-m", module, ...args], options)).stdout;
  } catch (reason) {
    const { stdout, stderr } = reason as { stdout: string; stderr: string };
    throw new Error(`${module} found problems:\n${stdout}${stderr}`);
  }
}

describe.skipIf(missing)("the OpenAPI document", () => {
  it("is valid, of all, of the page and of a model", { timeout: LIMIT_MS }, async () => {
    const { httpUrl } = await start();
    const folder = tempFolder();
    const paths = ["v2", "docs", "v2/models/default"].map(async (place, index) => {
      const path = join(folder, `${index}.json`);
      writeFileSync(path, await (await fetch(`${httpUrl}/${place}/openapi.json`)).text());
      return path;
    });
    const said = await python("openapi_spec_validator", ...(await Promise.all(paths)));
    expect(said.match(/OK/g)).toHaveLength(3);
  });

  it("documents every status and every body that random requests get", { timeout: LIMIT_MS }, async () => {
    const { httpUrl } = await start();
    const bounds = ["--max-examples", "8", "--seed", "1", "--generation-database", "none"];
    const phases = ["--phases", "examples,coverage,fuzzing"];
    // Always 501, which the checks take for a failure of the server.
    const but = ["--exclude-path-regex", "cudasharedmemory.*/register$"];
    const options = ["--checks", CHECKS, ...bounds, ...phases, ...but];
    await python("schemathesis.cli", "run", `${httpUrl}/v2/openapi.json`, ...options);
  });
});
