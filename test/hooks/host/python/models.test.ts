import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { IMPORT_PATH } from "../../../drivers/python/load-model.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";
import { ownPython, python, servePythonHooks } from "./serve-python-hooks.ts";

/** Doubles its input; -1 waits until 3 comes. */
const DRIVER = `
  import { defineDriver } from "kserving";
  const double = ({ dtype, shape, data }) => ({ dtype, shape, data: data.map((each) => 2 * each) });
  let end = () => {};
  const wait = (answer) => new Promise((resolve) => (end = () => resolve(answer)));
  export default defineDriver({
    name: "double", options: {}, pathless: true, placement: "thread",
    load: async (path) => ({
      signatures: { serving_default: {
        inputs: [{ name: "x", dtype: "float32", shape: [-1, 2] }], outputs: [{ name: "y", dtype: "float32", shape: [-1, 2] }],
      } },
      concurrency: 4,
      hookArgs: {
        model_inputs: { x: [-1, 2] }, model_outputs: ["y"], path, labels: ["one", "two"],
        session: { run: async ({ x }, factor) => ({ y: double(x), factor, nan: Number.NaN }), device: "CPU" },
      },
      predict: async ({ x }) => {
        if (x.data[0] === -1) return wait({ y: x });
        if (x.data[0] === 3) end();
        return { y: double(x) };
      },
      close: async () => {},
    }),
  });`;

const driver = () => join(tempFolder({ "double.ts": DRIVER }), "double.ts");
const X = (a: number, b: number) => ({ x: ["FP32", [1, 2], [a, b]] }) as const;

describe.skipIf(python === undefined)("Python hooks around models", () => {
  it("has one function for each model, and shares ctx among those of a request", async () => {
    const path = driver();
    const source = `
import numpy as np
def first(inputs, ctx, model_inputs, labels, **kwargs):
    ctx.start = float(inputs["x"][0, 0])
    ctx.labels = labels + list(model_inputs["x"])
    return {"x": inputs["x"].astype(np.float64)}
def second(inputs):
    return {"x": (inputs["y"] + 1).astype(np.int64), "ml-serving-ignore": inputs["y"][0, 0] > 5}
def last(outputs, ctx):
    return {"y": outputs["y" if "y" in outputs else "x"], "start": ctx.start, "labels": ctx.labels[:2], "rank": len(ctx.labels)}
preprocess = [first, second]
postprocess = [None, last]`;
    const { ask } = await servePythonHooks(source, { stages: [{ driver: path }, { driver: path }] });
    const [one, other] = await Promise.all([ask(X(1, 2)), ask(X(3, 4))]);
    expect(one.outputs).toEqual({ y: [6, 10], start: [1], labels: ["one", "two"], rank: [4] });
    // Skipped: the second model's inputs, cast for it, go on.
    expect(other.outputs).toEqual({ y: [7, 9], start: [3], labels: ["one", "two"], rank: [4] });
    expect(other.dtypes.y).toBe("FP32");
  });

  it("calls models itself in process, one after the other and from threads of its own", async () => {
    const source = `
from concurrent.futures import ThreadPoolExecutor
def init_hook(ctx, **params):
    return ctx.drivers[0].predict({"x": [[1, 1]]})["y"].tolist()
def preprocess(image):
    raise RuntimeError("a function of the file's own")
def process(inputs, ct_x, **kwargs):
    double = ct_x.drivers[0]
    assert double.driver_name == "double" and list(double.inputs) == ["x"] and double.outputs == {"y": [-1, 2]}
    once = double.predict(inputs)
    with ThreadPoolExecutor(4) as pool:
        many = list(pool.map(lambda _: double.predict({"x": once["y"]})["y"], range(8)))
    answer = kwargs["session"].run({"x": inputs["x"]}, factor=3)
    return {"sum": sum(many), "init": ct_x.global_ctx, "factor": answer["factor"], "y": answer["y"], "device": kwargs["session"].device}`;
    const { ask } = await servePythonHooks(source, { stages: [{ driver: driver() }] });
    const answers = await Promise.all([1, 2, 3].map((x) => ask(X(x, 0))));
    expect(answers.map(({ outputs }) => outputs)).toEqual(
      [1, 2, 3].map((x) => ({ sum: [32 * x, 0], init: [2, 2], factor: [3], y: [2 * x, 0], device: ["CPU"] })),
    );
  });

  it("lets other requests run while one waits for a model", async () => {
    const source = `
def process(inputs, ctx):
    return ctx.drivers[0].predict(inputs)`;
    const { ask } = await servePythonHooks(source, { stages: [{ driver: driver() }], hookTimeoutMs: 1500 });
    const late = ask(X(-1, 0));
    expect((await Promise.all([ask(X(1, 0)), ask(X(2, 0))])).map(({ outputs }) => outputs.y)).toEqual([
      [2, 0],
      [4, 0],
    ]);
    expect(await late).toMatchObject({
      status: 504,
      error:
        "The hook process has not returned within 1500 ms (--hook-timeout); it waits for a model or for another server.",
    });
    // The same process goes on.
    expect((await ask(X(3, 0))).outputs.y).toEqual([6, 0]);
  });

  it("names the hook for values that the model does not take", async () => {
    const source = "def preprocess(inputs): return {'x': inputs['x'].astype('complex64')}";
    const { ask } = await servePythonHooks(source, { stages: [{ driver: driver() }] });
    expect(await ask(X(1, 2))).toMatchObject({
      status: 500,
      error: expect.stringContaining("The hook preprocess gave the model what it does not take"),
    });
  });

  it("says what a handle of the server has, and what it has not", async () => {
    const source = "def preprocess(inputs, ctx, session): return {'x': session.graph}";
    const { ask } = await servePythonHooks(source, { stages: [{ driver: driver() }] });
    expect((await ask(X(1, 2))).error).toBe(
      "The hook preprocess failed: AttributeError: session has no 'graph': the model runs in the server, not in this process. It has run, device; driver.predict runs the model",
    );
  });

  it.runIf(process.platform === "linux")("tells the memory of its processes, and of those of models", async () => {
    const model = {
      driver: "python",
      options: { model_class: "toy.models:Scale", import_path: IMPORT_PATH, "model.factor": "2" },
    };
    const serving = { stages: [model], workers: 2, options: { python: ownPython as string } };
    const { server } = await servePythonHooks("def preprocess(inputs): return inputs", serving);
    const text = await (await fetch(`${server.httpUrl}/metrics`)).text();
    for (const kind of ["hook", "model"]) {
      const [, bytes] =
        new RegExp(`^kserving_${kind}_process_resident_memory_bytes\\{.*\\} (.*)$`, "m").exec(text) ?? [];
      expect(Number(bytes)).toBeGreaterThan(10e6);
    }
  });
});
