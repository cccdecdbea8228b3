import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createEventLog } from "../../../helpers/event-log.ts";
import { ownPython, python, servePythonHooks } from "./serve-python-hooks.ts";

const HOOKS = `
import ctypes, multiprocessing, os, sys, time
def init_hook(**params):
    print("started")
    print("a warning", file=sys.stderr)
def preprocess(inputs, ctx):
    if "loop" in inputs:
        while True:
            pass
    if "exit" in inputs:
        os._exit(3)
    if "crash" in inputs:
        ctypes.string_at(1)
    if "fork" in inputs and os.fork():
        os.wait()
    if "child" in inputs:
        child = multiprocessing.get_context("fork").Process(target=time.sleep, args=[60])
        child.start()
        child.terminate()
        child.join()
        return {"exit": child.exitcode}
    return {"pid": os.getpid()}
def close_hook(global_ctx):
    print("closed")
`;
const flag = ["BOOL", [1], [true]] as const;
/** Python as it starts by itself. */
const own = { options: { python: ownPython as string } };

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe.skipIf(python === undefined)("the process of Python hooks", () => {
  it.each([
    [
      "loop",
      504,
      /^The hook preprocess has not returned within 500 ms \(--hook-timeout\); its process is replaced\. Is there an endless loop\?/,
      /has not returned within 500 ms/,
    ],
    [
      "exit",
      503,
      /^The request was lost: the hooks' Python process ended with exit code 3; does it call os\._exit\? Raise an error instead\. Send it again if another request was the cause\.$/,
      /hooks\.py: its Python process ended with exit code 3; does it call os\._exit\? Raise an error instead\./,
    ],
    [
      "crash",
      503,
      /^The request was lost: the hooks' Python process crashed \(SIGSEGV\); a library that the hooks use failed in native code\. Send it again if another request was the cause\.$/,
      /crashed \(SIGSEGV\); a library that the hooks use failed in native code\./,
    ],
  ])("is replaced after %s", async (name, status, error, logged) => {
    const { log, events, find } = createEventLog();
    const { ask, server } = await servePythonHooks(HOOKS, { ...own, hookTimeoutMs: 500, log });
    const before = (await ask({ x: flag })).outputs.pid;
    expect(await ask({ [name]: flag })).toMatchObject({ status, error: expect.stringMatching(error) });
    const after = (await ask({ x: flag })).outputs.pid;
    expect(after).not.toEqual(before);
    expect(events.filter(({ level }) => level === "error").map(({ msg }) => msg)).toContainEqual(
      expect.stringMatching(logged),
    );
    expect(isAlive(Number(before?.[0]))).toBe(false);
    await server.close();
    expect(await find({ msg: "closed" })).toMatchObject({ level: "info", from: "hooks" });
    expect(isAlive(Number(after?.[0]))).toBe(false);
    expect(events).toContainEqual(expect.objectContaining({ msg: "a warning", level: "warn", from: "hooks" }));
  });

  it("passes over signals that are sent to all processes of a service", async () => {
    const { ask } = await servePythonHooks(HOOKS, own);
    const before = (await ask({ x: flag })).outputs.pid;
    for (const signal of ["SIGHUP", "SIGUSR2", "SIGTERM", "SIGINT"] as const) process.kill(Number(before?.[0]), signal);
    expect((await ask({ x: flag })).outputs.pid).toEqual(before);
  });

  it("goes on after a hook that forks", async () => {
    const { ask } = await servePythonHooks(HOOKS, own);
    const [one, other] = [await ask({ fork: flag }), await ask({ x: flag })];
    expect(one.outputs.pid).toEqual(other.outputs.pid);
  });

  it("stays at SIGTERM, which a group's processes get together, for the requests that the server still answers", async () => {
    const { ask } = await servePythonHooks(HOOKS, own);
    const before = (await ask({ x: flag })).outputs.pid;
    process.kill(Number(before?.[0]), "SIGTERM");
    expect((await ask({ x: flag })).outputs.pid).toEqual(before);
    // What a hook starts ends by it.
    expect((await ask({ child: flag })).outputs.exit).toEqual([-15]);
  });

  it("exists as often as --workers says", async () => {
    const source = `
import os, time
def preprocess(inputs):
    time.sleep(0.2)
    return {"pid": os.getpid()}`;
    const { ask } = await servePythonHooks(source, { ...own, workers: 2 });
    const answers = await Promise.all(Array.from({ length: 4 }, () => ask({ x: flag })));
    expect(new Set(answers.map(({ outputs }) => outputs.pid?.[0])).size).toBe(2);
  });

  it("is replaced by one with the new file, and stays where that fails", async () => {
    const version = (text: string) => `import beside\ndef preprocess(inputs): return {"v": "${text}" + beside.NAME}`;
    const { ask, folder, server } = await servePythonHooks(version("one"), { files: { "beside.py": "NAME = '1'" } });
    expect((await ask({ x: flag })).outputs.v).toEqual(["one1"]);
    writeFileSync(join(folder, "hooks.py"), version("two"));
    writeFileSync(join(folder, "beside.py"), "NAME = '22'");
    await server.reloadHooks();
    expect((await ask({ x: flag })).outputs.v).toEqual(["two22"]);
    writeFileSync(join(folder, "hooks.py"), "def preprocess(inputs:");
    await expect(server.reloadHooks()).rejects.toThrow("SyntaxError");
    expect((await ask({ x: flag })).outputs.v).toEqual(["two22"]);
  });
});
