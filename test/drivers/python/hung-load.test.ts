import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createSilentLogger } from "../../../src/observability/logger.ts";
import { Executor } from "../../../src/serving/executor.ts";
import { loadServable } from "../../../src/serving/repository/load-servable.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";
import { findPython } from "../../helpers/find-python.ts";
import { loadOptions } from "../../helpers/load-options.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { predict } from "../predict.ts";
import { IMPORT_PATH, loadModel } from "./load-model.ts";

const python = findPython("Loads of Python models that hang", ["numpy"]);

/** Options of a model that hangs after so many loads, and its processes that live or have ended. */
function stalling(loads: number) {
  const file = join(tempFolder({ pids: "" }), "pids");
  const options = {
    python: python as string,
    import_path: IMPORT_PATH,
    model_class: "toy.models:Stalling",
    "model.file": file,
    "model.loads": String(loads),
  };
  const pids = () => readFileSync(file, "utf8").split("\n").filter(Boolean).map(Number);
  onTestFinished(() => {
    for (const pid of pids().filter(isAlive)) process.kill(pid, "SIGKILL");
  });
  return { options, pids };
}

describe.skipIf(python === undefined)("a Python model whose load hangs", () => {
  // A model beside a tokenizer has its own thread.
  it.each([
    ["in the thread that loads it", {}],
    ["in its own thread", { "tokenizer.json": "{}" }],
  ])(
    "%s, loses its process and its share of the memory when the load is given up",
    async (_, files) => {
      const { options, pids } = stalling(0);
      const path = join(tempFolder({ model: "0123456789", ...files }), "model");
      const modelMemoryBytes = 10 + 12 * 1024 * 1024;
      const loadingLimits = { loadThreads: 1, modelMemoryBytes, memoryCheck: false };
      const { memory } = new Executor({ loading: loadingLimits, log: createSilentLogger() });
      const givingUp = new AbortController();
      const source = { name: "m", version: 1n, stages: [{ driver: "python", path }], options };
      const loading = loadServable(source, { ...loadOptions(), memory, signal: givingUp.signal });
      await expect.poll(() => pids().length, { timeout: 20_000 }).toBe(1);
      givingUp.abort(new Error("given up"));
      await expect(loading).rejects.toThrow("given up");
      expect(pids().filter(isAlive)).toEqual([]);
      (await memory.reserve({ what: "another", bytes: modelMemoryBytes })).release();
    },
    30_000,
  );

  it("when it is loaded again, loses its process when it is closed", async () => {
    const { options, pids } = stalling(1);
    const model = await loadModel("python", "", { options });
    const fault = createTensor("bytes", [], [Buffer.from("kills_itself")]);
    await expect(predict(model, { fault })).rejects.toMatchObject({ code: "unavailable" });
    await expect.poll(() => pids().length, { timeout: 20_000 }).toBe(2);
    await model.close();
    expect(pids().filter(isAlive)).toEqual([]);
  }, 30_000);
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
