import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownPython, python, servePythonHooks } from "./serve-python-hooks.ts";

const HOOKS = `
import asyncio, atexit, concurrent.futures, multiprocessing, os
import numpy as np

class Panic(BaseException):
    pass

class Unprintable(Exception):
    def __str__(self):
        raise self

def work(_):
    return os.getpid()

def pools():
    global pool, executor
    pool = multiprocessing.Pool(1)
    executor = concurrent.futures.ProcessPoolExecutor(1)
    atexit.register(open(os.path.join(os.path.dirname(__file__), "ended"), "w").write, "yes")
    return {"pids": [pool.apply(work, (0,)), executor.submit(work, 0).result()]}

def process(inputs, ctx):
    what = next(iter(inputs))
    if what == "panics":
        ctx.driver.predict({"x": np.zeros(1, np.float32)})
        raise Panic("index out of bounds")
    if what == "cancels":
        raise asyncio.CancelledError()
    if what == "unprintable":
        raise Unprintable()
    if what == "abort":
        ctx.abort(0, "all is well")
    if what == "callback":
        ctx.add_callback(lambda: 1 / 0)
    return pools() if what == "pools" else {"pid": os.getpid()}
`;

describe.skipIf(python === undefined)("a failing Python hook", () => {
  const flag = ["BOOL", [1], [true]] as const;

  it("fails its own request, whatever it raises, in a process that goes on", async () => {
    const { ask } = await servePythonHooks(HOOKS);
    const { pid } = (await ask({ x: flag })).outputs;
    const cases = {
      panics: "The hook process failed: Panic: index out of bounds",
      cancels: "The hook process failed: CancelledError",
      unprintable: "The hook process failed: Unprintable",
      abort: "all is well",
    };
    for (const [name, error] of Object.entries(cases))
      expect(await ask({ [name]: flag })).toMatchObject({ status: 500, error });
    expect((await ask({ callback: flag })).outputs).toEqual({ pid });
  });

  it("ends with the processes that it has started, and what is registered with atexit runs", async () => {
    const options = { python: ownPython as string };
    const { ask, server, folder } = await servePythonHooks(HOOKS, { options });
    const { pids = [] } = (await ask({ pools: flag })).outputs;
    expect(pids).toHaveLength(2);
    await server.close();
    for (const pid of pids as number[]) await expect.poll(() => isAlive(pid)).toBe(false);
    expect(readFileSync(join(folder, "ended"), "utf8")).toBe("yes");
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
