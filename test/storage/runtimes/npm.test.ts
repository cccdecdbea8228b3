import { realpathSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runNpmInstaller } from "../../../src/storage/runtimes/npm.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { recordingReporter, toy } from "./toy-runtime.ts";

const RUNTIME = { ...toy, npm: { package: "@toy/carrier", folder: "deps/lib", installer: "scripts/install.js" } };

/** A project with the package, in which the rest of the test runs; returns where it is. */
function projectWith(installer: string): string {
  const root = tempFolder({
    "node_modules/@toy/carrier/package.json": "{}",
    "node_modules/@toy/carrier/scripts/install.js": installer,
  });
  const before = process.cwd();
  process.chdir(root);
  onTestFinished(() => process.chdir(before));
  return join(realpathSync(root), "node_modules/@toy/carrier");
}

const run = () => runNpmInstaller(RUNTIME, { signal: new AbortController().signal, reporter: recordingReporter() });

test("runs the package's installer in its folder and returns where the libraries are", async () => {
  const root = projectWith(`
    const fs = require("fs");
    fs.mkdirSync("deps/lib", { recursive: true });
    for (const name of ["libtoy.so", "libtoy_core.so"]) fs.writeFileSync("deps/lib/" + name, "");
  `);
  expect(await run()).toBe(join(root, "deps/lib"));
});

test("an installer that leaves no libraries is a failure, whatever it says", async () => {
  projectWith("process.exit(0)");
  await expect(run()).rejects.toThrow("The installer of @toy/carrier ended with 0 and left no libraries");
});

test("a package that is not there is named with what to run", async () => {
  await expect(run()).rejects.toThrow("run: npm install @toy/carrier --ignore-scripts");
});
