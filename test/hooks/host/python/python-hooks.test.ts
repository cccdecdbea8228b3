import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startServer } from "../../../helpers/start-server.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";
import { python, servePythonHooks } from "./serve-python-hooks.ts";

const X = { x: ["FP32", [2], [1, 2.5]] } as const;

/** One file for many cases: the name of an input chooses. */
const HOOKS = `
import sys
import numpy as np
import beside

COUNT = 0

def init_hook(**params):
    print("init_hook got", params["scale"])
    return {"scale": float(params["scale"])}

def preprocess(inputs, ctx, **kwargs):
    global COUNT
    COUNT += 1
    ctx.seen = sorted(inputs)
    ctx.kwargs = sorted(kwargs)
    if "fail" in inputs:
        return inputs["nothing"]
    if "abort" in inputs:
        ctx.abort("NOT_FOUND", "no such face")
    if "code" in inputs:
        ctx.set_code(3)
        ctx.set_details("the face is too small")
    if "exit" in inputs:
        sys.exit(3)
    if "none" in inputs:
        return None
    if "list" in inputs:
        return [1]
    if "object" in inputs:
        return {"x": object()}
    if "ragged" in inputs:
        return {"x": [np.zeros(2), np.zeros(3)]}
    return inputs

def postprocess(outputs, ctx):
    ctx.send_initial_metadata([("x-scale", str(ctx.global_ctx["scale"]))])
    return {
        "scaled": outputs["x"] * ctx.global_ctx["scale"],
        "double": outputs["x"].astype(np.float64),
        "rank": np.float32(3),
        "text": "größe",
        "bytes": b"ab\\0",
        "many": [b"a\\0", b"b"],
        "whole": 3,
        "list": [[1, 2], [3, 4]],
        "fraction": 0.5,
        "floats": [[1.0], [2]],
        "seen": ctx.seen,
        "kwargs": ctx.kwargs,
        "user": ctx.metadata.get("x-user", ""),
        "model": ctx.request["model"],
        "helper": beside.NAME,
    }
`;

describe.skipIf(python === undefined)("a Python hook file", () => {
  it("gets arrays, its own options and the request's context, and gives arrays and plain values", async () => {
    const { server } = await servePythonHooks(HOOKS, {
      files: { "beside.py": "NAME = 'beside'" },
      options: { scale: "2" },
    });
    const body = JSON.stringify({ inputs: [{ name: "x", datatype: "FP32", shape: [2], data: [1, 2.5] }] });
    const headers = { "x-user": "eve" };
    const response = await fetch(`${server.httpUrl}/v2/models/default/infer`, { method: "POST", body, headers });
    expect(response.headers.get("x-scale")).toBe("2.0");
    const { outputs } = (await response.json()) as { outputs: { name: string }[] };
    expect(Object.fromEntries(outputs.map(({ name, ...rest }) => [name, rest]))).toEqual({
      scaled: { datatype: "FP32", shape: [2], data: [2, 5] },
      double: { datatype: "FP64", shape: [2], data: [1, 2.5] },
      rank: { datatype: "FP32", shape: [], data: [3] },
      text: { datatype: "BYTES", shape: [], data: ["größe"] },
      bytes: { datatype: "BYTES", shape: [], data: ["ab\0"] },
      many: { datatype: "BYTES", shape: [2], data: ["a\0", "b"] },
      whole: { datatype: "INT32", shape: [], data: [3] },
      list: { datatype: "INT32", shape: [2, 2], data: [1, 2, 3, 4] },
      floats: { datatype: "FP32", shape: [2, 1], data: [1, 2] },
      fraction: { datatype: "FP32", shape: [], data: [0.5] },
      seen: { datatype: "BYTES", shape: [1], data: ["x"] },
      kwargs: { datatype: "BYTES", shape: [3], data: ["driver", "model_inputs", "model_outputs"] },
      user: { datatype: "BYTES", shape: [], data: ["eve"] },
      model: { datatype: "BYTES", shape: [], data: ["default"] },
      helper: { datatype: "BYTES", shape: [], data: ["beside"] },
    });
  });

  it("fails a request with the client's text, and goes on with the next", async () => {
    const { ask } = await servePythonHooks(HOOKS, { files: { "beside.py": "NAME = ''" }, options: { scale: "2" } });
    const flag = ["BOOL", [1], [true]] as const;
    const cases = {
      fail: [500, "The hook preprocess failed: KeyError: 'nothing'"],
      abort: [404, "no such face"],
      code: [400, "the face is too small"],
      exit: [500, "The hook preprocess failed: it called sys.exit(); raise an error instead"],
      none: [
        500,
        "The hook preprocess failed: it returned None (is a return missing?); expected a dict of values by name",
      ],
      list: [500, "The hook preprocess failed: it returned a list; expected a dict of values by name"],
      object: [
        500,
        "The hook preprocess failed: x is a object; expected arrays, numbers, texts, bytes, and lists and dicts of them",
      ],
      ragged: [500, /^The hook preprocess failed: a list of arrays of different shapes cannot be a tensor/],
    } as const;
    for (const [name, [status, error]] of Object.entries(cases)) {
      const answer = await ask({ ...X, [name]: flag });
      expect({ name, status: answer.status }).toEqual({ name, status });
      if (typeof error === "string") expect(answer.error).toBe(error);
      else expect(answer.error).toMatch(error);
    }
    expect((await ask(X)).outputs).toMatchObject({ scaled: [2, 5] });
  });

  it("gets and gives plain values over PredictJSON", async () => {
    const source = `
import numpy as np
def preprocess(inputs):
    return {"at": inputs["at"] + 0.000123, "table": inputs["table"] + [{"box": np.zeros((1, 2)), "$x": None, "n": 2.0}]}`;
    const { server } = await servePythonHooks(source);
    const body = JSON.stringify({ at: 1700000000.5, table: [{ name: "a" }] });
    const response = await fetch(`${server.httpUrl}/serving-proxy`, { method: "POST", body });
    expect(await response.json()).toEqual({
      at: 1700000000.500123,
      table: [{ name: "a" }, { box: [[0, 0]], $x: null, n: 2 }],
    });
  });

  it("runs the example of the documentation", async () => {
    const [, source = ""] = /```python\n([\s\S]*?)```/.exec(readFileSync("docs/python-hooks.md", "utf8")) ?? [];
    const { ask } = await servePythonHooks(source, { options: { scale: "2" } });
    expect((await ask(X)).outputs).toEqual({ y: [2, 5], count: [2] });
  });

  it("needs a thread, an interpreter, and one language in a pipeline", async () => {
    const hooks = join(tempFolder({ "hooks.py": "def preprocess(inputs): return inputs" }), "hooks.py");
    const stages = [{ driver: "null" }];
    await expect(startServer({ stages, hooks, workers: 0 })).rejects.toThrow(
      "is Python, which runs in processes of its own, not in the main thread; expected --workers 1 or more.",
    );
    await expect(startServer({ stages, hooks, workers: 1, options: { python: "/no/python" } })).rejects.toThrow(
      /The Python hooks find no Python with numpy: \/no\/python: .+ Install it there: pip install numpy\. Or name an interpreter that has it: -o python=PATH\./,
    );
    await expect(startServer({ stages, hooks: `${hooks}.none.py`, workers: 1 })).rejects.toThrow("does not exist");
  });
});
