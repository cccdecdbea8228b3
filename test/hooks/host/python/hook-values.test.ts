import { describe, expect, it } from "vitest";
import { python, servePythonHooks } from "./serve-python-hooks.ts";

const X = { x: ["FP32", [1], [1]] } as const;

describe.skipIf(python === undefined)("values of Python hooks", () => {
  it("are numbers of JSON as they came, and whole numbers of any size", async () => {
    const { server } = await servePythonHooks(`
def process(inputs):
    return {**inputs, "text": repr(inputs), "large": 2**53 + 1, "list": [2**64 - 1, 1], "inner": {"deep": [2**63]}}`);
    const answer = await fetch(`${server.httpUrl}/serving-proxy`, {
      method: "POST",
      body: '{"zero": -0.0, "$int": "5"}',
    });
    const text = (await answer.text()).replace(/\s+/g, "");
    expect(text).toContain(`"text":"{'zero':-0.0,'$int':'5'}"`);
    expect(text).toContain(
      '"large":9007199254740993,"list":[18446744073709551615,1],"inner":{"deep":[9223372036854775808]}',
    );
  });

  it("are whole numbers of 64 bits in lists", async () => {
    const { ask } = await servePythonHooks(`
def process(inputs):
    return {"list": [2**60, 1], "one": 2**60 + 1, "inner": {"deep": 2**63}}`);
    expect(await ask(X)).toMatchObject({
      outputs: { list: [2 ** 60, 1] },
      dtypes: { list: "INT64", one: "INT64", inner: "BYTES" },
    });
  });

  it("do not become infinite in a model's dtype, unless they are", async () => {
    const hooks = `
import numpy as np
def preprocess(inputs):
    return {"x": np.array([np.inf if "inf" in inputs else 1e300])}
def postprocess(outputs):
    return {name: np.isinf(y) for name, y in outputs.items()}`;
    const stages = [{ driver: "onnx", path: "test/fixtures/models/half-plus-two.onnx" }];
    const { ask } = await servePythonHooks(hooks, { stages });
    expect(await ask(X)).toMatchObject({
      status: 500,
      error: 'The hook preprocess gave the model what it does not take: Input "x" is float64; the model takes float32.',
    });
    expect(Object.values((await ask({ inf: X.x })).outputs)).toEqual([[true]]);
  });

  it("have no masked elements", async () => {
    const { ask } = await servePythonHooks(`
import numpy as np
MASKED = np.ma.array([1.0, 2.0], mask=[0, 1])
def preprocess(inputs):
    return {"y": [MASKED, MASKED] if "list" in inputs else MASKED}`);
    const error =
      "The hook preprocess failed: y is an array with masked values; expected a value for each, as filled(value) gives them.";
    expect(await ask(X)).toMatchObject({ status: 500, error });
    expect(await ask({ list: X.x })).toMatchObject({ status: 500, error });
  });

  it("belong to one request: what a hook changes in them is not seen by the next", async () => {
    const { server } = await servePythonHooks(`
def process(inputs, ctx):
    seen = ctx.metadata.get("x-seen", "nothing")
    ctx.metadata["x-seen"] = "changed"
    return {"seen": seen}`);
    const request = { id: "same", inputs: [{ name: "x", datatype: "FP32", shape: [1], data: [1] }] };
    const options = { method: "POST", headers: { "x-request-id": "same" }, body: JSON.stringify(request) };
    for (let count = 0; count < 2; count++) {
      const answer = await fetch(`${server.httpUrl}/v2/models/default/infer`, options);
      expect(await answer.json()).toMatchObject({ outputs: [{ data: ["nothing"] }] });
    }
  });

  it("tell each request the model's own shapes", async () => {
    const hooks = `
def process(inputs, ctx):
    shape = ctx.driver.inputs["x"]
    shape.append(5)
    return {"rank": len(shape)}`;
    const stages = [{ driver: "onnx", path: "test/fixtures/models/half-plus-two.onnx" }];
    const { ask } = await servePythonHooks(hooks, { stages });
    const first = await ask(X);
    expect(first.status).toBe(200);
    expect((await ask(X)).outputs).toEqual(first.outputs);
  });
});
