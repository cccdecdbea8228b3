import { describe, expect, it } from "vitest";
import type { Model } from "../../../src/drivers/driver.ts";
import { createTensor, type Tensor } from "../../../src/tensor/tensor.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { warmNumpy } from "../../helpers/warm-python.ts";
import { predict } from "../predict.ts";
import { loadModel } from "./load-model.ts";

const python = warmNumpy("Python models after failures");

/** Computes in double precision; each way to fail begins in the middle of a run. */
const MODEL = `
import ctypes, os, signal, subprocess, sys, threading, time
import numpy as np

class Model:
    def predict(self, inputs):
        how, x = inputs["how"].item().decode(), inputs["x"]
        half = np.cos(x) / 3
        if how != "good":
            answer = getattr(self, how)(half)
            if answer is not None:
                return answer
        return {"y": half + np.sin(x), "pid": os.getpid()}

    def raises(self, x): raise RuntimeError("in the middle")
    def refuses(self, x): raise ValueError("not these")
    def interrupts(self, x): raise KeyboardInterrupt()
    def recurses(self, x): return self.recurses(x)
    def allocates(self, x): return np.zeros(1 << 45)
    def garbage(self, x): return {"y": object()}
    def nothing(self, x): return {"y": [[1], [2, 3]]}
    def changes(self, x): x[:] = 7; raise RuntimeError("changed")
    def prints(self, x): print("x" * 100_000); os.write(1, b"\\xff\\x00" * 1000); os.write(2, b"no line"); raise RuntimeError("printed")
    def reads(self, x): raise RuntimeError(repr(sys.stdin.read()))
    def forks(self, x):
        if os.fork() == 0:
            return {"y": x}
        os.wait()
        raise RuntimeError("forked")
    def starts(self, x):
        subprocess.run([sys.executable, "-c", "import os; os.write(3, b'no frame')"], close_fds=False, stderr=subprocess.DEVNULL)
        raise RuntimeError("started")
    def exits(self, x): sys.exit(3)
    def leaves(self, x): os._exit(0)
    def crashes(self, x): ctypes.string_at(0)
    def aborts(self, x): os.abort()
    def divides(self, x): os.kill(os.getpid(), signal.SIGFPE)
    def killed(self, x): os.kill(os.getpid(), signal.SIGKILL)
    def closes(self, x): os.closerange(0, 64)
    def sleeps(self, x): time.sleep(0.5)
    def hangs(self, x): time.sleep(60)
`;

const X = createTensor("float64", [4], Float64Array.of(0.1, 0.2, 1e300, -3));

function load(): Promise<Model> {
  const options = {
    ...{ python: python as string, model_class: "model:Model", timeout: "2" },
    import_path: tempFolder({ "model.py": MODEL }),
  };
  return loadModel("python", "", { options });
}

function ask(model: Model, how: string, call = {}) {
  return predict(model, { how: createTensor("bytes", [], [Buffer.from(how)]), x: X }, call);
}

async function pidOf(model: Model): Promise<number> {
  const { pid } = await ask(model, "good");
  return Number((pid as Tensor<"int64">).data[0]);
}

/** Ways to fail, each with the code of the error, and true where the process is another one afterwards. */
const FAILURES = [
  ["raises", "internal", false],
  ["refuses", "invalid_argument", false],
  ["interrupts", "internal", false],
  ["recurses", "internal", false],
  ["allocates", "resource_exhausted", false],
  ["garbage", "internal", false],
  ["nothing", "internal", false],
  ["changes", "internal", false],
  ["prints", "internal", false],
  ["reads", "internal", false],
  ["forks", "internal", false],
  ["starts", "internal", false],
  ["exits", "unavailable", true],
  ["leaves", "unavailable", true],
  ["crashes", "unavailable", true],
  ["aborts", "unavailable", true],
  ["divides", "unavailable", true],
  ["killed", "unavailable", true],
  ["closes", "unavailable", true],
  ["hangs", "deadline_exceeded", true],
] as const;

describe.skipIf(python === undefined)("a Python model after a run that failed", { timeout: 60_000 }, () => {
  it("answers equal to the bit, and so do others", async () => {
    const [model, other] = await Promise.all([load(), load()]);
    const { y: good } = await ask(model, "good");
    const otherPid = await pidOf(other);
    for (const [how, code, isReplaced] of FAILURES) {
      const before = await pidOf(model);
      const [failure, beside] = await Promise.allSettled([ask(model, how), ask(other, "good")]);
      expect(failure, how).toMatchObject({ status: "rejected", reason: { code } });
      expect(beside, how).toMatchObject({ status: "fulfilled", value: { y: good } });
      expect((await ask(model, "good")).y, how).toEqual(good);
      expect((await pidOf(model)) !== before, how).toBe(isReplaced);
    }
    expect(await pidOf(other)).toBe(otherPid);
  });

  it("answers the next one where its caller left or had no more time", async () => {
    const model = await load();
    const { y: good } = await ask(model, "good");
    const left = new AbortController();
    const leaving = ask(model, "sleeps", { signal: left.signal });
    left.abort();
    await expect(leaving).rejects.toMatchObject({ code: "cancelled" });
    const [late, next] = await Promise.allSettled([ask(model, "good", { deadlineMs: 100 }), ask(model, "good")]);
    expect(late).toMatchObject({ status: "rejected", reason: { code: "deadline_exceeded" } });
    expect(next).toMatchObject({ status: "fulfilled", value: { y: good } });
  });
});
