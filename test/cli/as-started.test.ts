import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { expect, test } from "vitest";
import { asStarted } from "../../src/cli/error-text.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const MESSAGE =
  "ONNX Runtime is not installed. Run: kserving runtimes install onnx (kserving runtimes list shows more).";
const PROGRAM = resolve("bin/kserving.cjs");

test("a message names the command as the program was started", () => {
  expect(asStarted(MESSAGE, "npx kserving")).toContain(
    "Run: npx kserving runtimes install onnx (npx kserving runtimes",
  );
  expect(asStarted("kserving is a server; see kserving.md", "npx kserving")).toBe(
    "kserving is a server; see kserving.md",
  );
});

test("that is Node with the file where the shell has no such name", () => {
  expect(asStarted(MESSAGE)).toContain("Run: node bin/kserving.cjs runtimes install onnx");
});

test("the command that a failed start names works in the folder where it was started", () => {
  const folder = tempFolder();
  mkdirSync(join(folder, "bin"));
  symlinkSync(PROGRAM, join(folder, "bin", "kserving"));
  const path = { here: process.env.PATH ?? "", with: `${join(folder, "bin")}${delimiter}${process.env.PATH}` };
  const started = (PATH: string) => {
    const code = `import { asStarted } from ${JSON.stringify(resolve("src/cli/error-text.ts"))}; console.log(asStarted("kserving runtimes list"));`;
    const args = ["--import", import.meta.resolve("tsx"), "--input-type=module", "-e", code];
    return execFileSync(process.execPath, args, {
      cwd: folder,
      env: { ...process.env, PATH },
      encoding: "utf8",
    }).trim();
  };
  expect(started(path.with)).toBe("kserving runtimes list");
  expect(started(path.here)).toBe(`node ${PROGRAM} runtimes list`);
});
