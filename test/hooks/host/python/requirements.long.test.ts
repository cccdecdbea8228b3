import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createEventLog } from "../../../helpers/event-log.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";
import { ownPython, python, servePythonHooks } from "./serve-python-hooks.ts";

/**
 * Makes a virtual environment that has the interpreter's packages too, and a wheel of a package `greeting` beside it.
 */
const PREPARE = `
import os, subprocess, sys, zipfile, numpy
folder = sys.argv[1]
subprocess.run([sys.executable, "-m", "venv", folder + "/venv"], check=True)
library = f"{folder}/venv/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
with open(library + "/others.pth", "w") as paths:
    paths.write(os.path.dirname(os.path.dirname(numpy.__file__)))
info = "greeting-1.0.dist-info"
with zipfile.ZipFile(f"{folder}/greeting-1.0-py3-none-any.whl", "w") as wheel:
    wheel.writestr("greeting.py", "TEXT = 'hello'")
    wheel.writestr(info + "/METADATA", "Metadata-Version: 2.1\\nName: greeting\\nVersion: 1.0\\n")
    wheel.writestr(info + "/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(info + "/RECORD", "greeting.py,,\\n")`;

const HOOKS = "import greeting\ndef preprocess(inputs): return {'text': greeting.TEXT}";
const X = { x: ["BOOL", [1], [true]] } as const;

describe.skipIf(python === undefined)("requirements.txt beside a Python hook file", () => {
  it("is installed where the user asks for it, and pip's reason told where that fails", async () => {
    const folder = tempFolder();
    execFileSync(ownPython as string, ["-c", PREPARE, folder]);
    const options = { python: join(folder, "venv/bin/python") };
    const good = { "requirements.txt": `--no-index\n${join(folder, "greeting-1.0-py3-none-any.whl")}` };
    const bad = { "requirements.txt": "--no-index\nno-such-package==1" };
    await expect(servePythonHooks(HOOKS, { files: good, options })).rejects.toThrow('needs the module "greeting"');
    const asked = { ...options, requirements: "true" };
    await expect(servePythonHooks(HOOKS, { files: bad, options: asked })).rejects.toThrow(
      /requirements\.txt cannot be installed for .+no-such-package==1.+ A virtual environment can be named: -o python=PATH\.$/,
    );
    await expect(servePythonHooks(HOOKS, { options: { ...options, requirements: "no.txt" } })).rejects.toThrow(
      /hooks\.py: there is no no\.txt/,
    );
    const { ask } = await servePythonHooks(HOOKS, { files: good, options: asked, workers: 2 });
    expect((await ask(X)).outputs.text).toEqual(["hello"]);
  });

  it("is missed once, and the hooks run", async () => {
    const { log, events } = createEventLog();
    const serving = { options: { requirements: "true" }, workers: 2, log };
    const { ask } = await servePythonHooks("def preprocess(inputs): return {'y': 1}", serving);
    expect((await ask(X)).outputs.y).toEqual([1]);
    const told = events.filter(({ msg }) => String(msg).includes("requirements.txt"));
    expect(told.map(({ msg }) => msg)).toEqual([
      expect.stringMatching(/hooks\.py has no requirements\.txt next to it: nothing/),
    ]);
  });

  it("is left alone beside SageMaker's code/lib, which is on the import path", async () => {
    const folder = tempFolder();
    mkdirSync(join(folder, "lib"));
    writeFileSync(join(folder, "lib/beside.py"), "TYPE = 'a/b'");
    writeFileSync(join(folder, "requirements.txt"), "no-such-package==1");
    writeFileSync(join(folder, "inference.py"), "import beside\nhandler = lambda data, context: ('', beside.TYPE)");
    const { log, events } = createEventLog();
    const serving = { hooks: join(folder, "inference.py"), options: { requirements: "true" }, log };
    const { server } = await servePythonHooks("", serving);
    const answer = await fetch(`${server.httpUrl}/invocations`, { method: "POST", body: "x" });
    expect(answer.headers.get("content-type")).toBe("a/b");
    const printed = events.map(({ msg }) => String(msg));
    expect(printed).toContainEqual(expect.stringContaining("requirements.txt is not installed"));
  });
});
