import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { findPython } from "../../helpers/find-python.ts";

const python = findPython("What PyTorch says of wrong sizes", ["torch"]);
const SCRIPT = fileURLToPath(new URL("refusals.py", import.meta.url));
const HOST = fileURLToPath(new URL("../../../python", import.meta.url));

it.skipIf(python === undefined)("PyTorch's refusals of wrong sizes are the client's fault", { timeout: 60_000 }, () => {
  const env = { ...process.env, PYTHONPATH: HOST };
  expect(JSON.parse(execFileSync(python as string, [SCRIPT], { env, encoding: "utf8" }))).toEqual([]);
});
