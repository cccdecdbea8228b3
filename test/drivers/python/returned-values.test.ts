import { describe, expect, it } from "vitest";
import type { Model } from "../../../src/drivers/driver.ts";
import { createTensor, type Tensor } from "../../../src/tensor/tensor.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { warmNumpy } from "../../helpers/warm-python.ts";
import { predict } from "../predict.ts";
import { loadModel } from "./load-model.ts";

const python = warmNumpy("What Python models return");

const MODEL = `
import asyncio, os, time
import numpy as np

class Panic(BaseException):
    pass

class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no text")

class Odd:
    runs = 0

    def predict(self, inputs):
        return getattr(self, inputs["what"].item().decode())()

    def zeros(self):
        return {"one": b"ab\\0\\0", "list": [[b"a\\0"], [b"bc"]], "text": "a\\0", "texts": ["a\\0", np.str_("b\\0")]}

    def masked(self):
        return {"y": np.ma.array([1, 2], mask=[False, True])}

    def whole(self):
        return {"y": np.ma.array([1.5, 2.5], mask=False)}

    def mixed(self):
        return {"y": ["a", 1]}

    def twice(self):
        return {"a": {"b": 1}, "a.b": 2}

    def panics(self):
        raise Panic("index out of bounds")

    def cancels(self):
        raise asyncio.CancelledError()

    def unprintable(self):
        raise Unprintable()

    def pid(self):
        return os.getpid()

    def sleeps(self):
        Odd.runs += 1
        time.sleep(0.2)
        return 0

    def count(self):
        return Odd.runs

    def exact(self):
        return {"whole": 2**53 + 1, "small": 2**53}
`;

async function load(): Promise<Model> {
  const options = { python: python as string, model_class: "odd:Odd", import_path: tempFolder({ "odd.py": MODEL }) };
  return loadModel("python", "", { options });
}

function ask(model: Model, what: string, call = {}) {
  return predict(model, { what: createTensor("bytes", [], [Buffer.from(what)]) }, call);
}

async function numberOf(model: Model, what: string): Promise<number> {
  const { output } = await ask(model, what);
  return Number((output as Tensor<"int64">).data[0]);
}

const texts = (...values: string[]) => values.map((value) => Buffer.from(value));

const SPECS = `
import numpy as np
class Specs:
    def __init__(self, **given):
        self.inputs = eval(given["inputs"])

    def predict(self, inputs):
        return inputs
`;

function loadSpecs(inputs: string): Promise<Model> {
  const folder = tempFolder({ "specs.py": SPECS });
  const model_args = JSON.stringify({ inputs });
  return loadModel("python", "", {
    options: { python: python as string, model_class: "specs:Specs", import_path: folder, model_args },
  });
}

describe.skipIf(python === undefined)("the inputs that a Python class declares", () => {
  it.each([
    '[{"name": "x", "dtype": np.dtype("float32"), "shape": (-1, np.int64(2))}]',
    '{"x": [np.float32, np.array([-1, 2])]}',
    '{"x": ["float32", (-1, 2)]}',
  ])("may be %s", async (inputs) => {
    const { signatures } = await loadSpecs(inputs);
    expect(signatures.serving_default?.inputs).toEqual([{ name: "x", dtype: "float32", shape: [-1, 2] }]);
  });

  it.each([
    '[{"dtype": "float32"}]',
    '["x"]',
    '{"x": ["float32"]}',
    '{"x": ["float32", "3"]}',
    '{1: "float32"}',
    '{"x": ["float32", [2.5]]}',
  ])("may not be %s", async (inputs) => {
    await expect(loadSpecs(inputs)).rejects.toThrow(
      /^inputs of Specs cannot be read \(.+\); expected a dict of dtypes, or of \[dtype, shape\], by name\.$/,
    );
  });
});

const DECLARED = `
import numpy as np
class Declared:
    outputs = {"y": ["float32", [-1]], "label": "bytes"}

    def predict(self, inputs):
        return eval(inputs["what"].item().decode())
`;

describe.skipIf(python === undefined)("the outputs that a Python class declares", () => {
  it("are what plain values become, and the error of others says what came and what is declared", async () => {
    const import_path = tempFolder({ "declared.py": DECLARED });
    const options = { python: python as string, model_class: "declared:Declared", import_path };
    const model = await loadModel("python", "", { options });
    const { y, label } = await ask(model, '{"y": [1, 2.5], "label": "a"}');
    expect([y?.dtype, [...(y as Tensor<"float32">).data], label?.dtype]).toEqual(["float32", [1, 2.5], "bytes"]);
    for (const [values, error] of [
      ['{"y": [1]}', 'The model did not return the declared output "label", but "y".'],
      [
        '{"y": [1], "label": "a", "more": 1}',
        'The model returned "more", which is not declared; declared are "y", "label".',
      ],
      ['{"y": np.arange(2), "label": "a"}', 'The model returned "y" as int64[2]; declared is float32[-1].'],
      ['{"y": np.full(1, 1e39), "label": "a"}', 'The model returned "y" as float64[1]; declared is float32[-1].'],
      ['{"y": [[1]], "label": "a"}', 'The model returned "y" as float32[1, 1]; declared is float32[-1].'],
      ['{"y": [1e39], "label": "a"}', 'The model returned "y" as float64[1]; declared is float32[-1].'],
      ['{"y": [1], "label": 7}', 'The model returned "label" as int64[]; declared is bytes[...].'],
    ] as const)
      await expect(ask(model, values)).rejects.toMatchObject({ code: "internal", message: error });
    const widened = await ask(model, '{"y": np.ones(2), "label": "a"}');
    expect(widened.y?.dtype).toBe("float32");
    expect((await ask(model, '{"y": [], "label": "a"}')).y).toMatchObject({ dtype: "float32", shape: [0] });
    const call = { outputs: ["y"] };
    expect(Object.keys(await ask(model, '{"y": [1]}', call))).toEqual(["y"]);
  });
});

describe.skipIf(python === undefined)("a declared shape of a Python class", () => {
  async function loadDeclared(outputs: string) {
    const text = DECLARED.replace(/outputs = .*/, `outputs = ${outputs}`);
    const import_path = tempFolder({ "declared.py": text });
    return loadModel("python", "", {
      options: { python: python as string, model_class: "declared:Declared", import_path },
    });
  }

  it("is that of an empty list, and of one element where one is declared", async () => {
    const model = await loadDeclared(
      '{"boxes": ["float32", [-1, 4]], "names": ["bytes", [-1]], "one": ["int32", [1]], "text": ["bytes", []]}',
    );
    expect(await ask(model, '{"boxes": [], "names": [], "one": 5, "text": ["a"]}')).toMatchObject({
      boxes: { dtype: "float32", shape: [0, 4] },
      names: { dtype: "bytes", shape: [0] },
      one: { dtype: "int32", shape: [1] },
      text: { dtype: "bytes", shape: [] },
    });
  });

  it("is not of bfloat16, which no answer of a class has", async () => {
    await expect(loadDeclared('{"y": "bfloat16"}')).rejects.toThrow(/^outputs gives "y" the dtype bfloat16; expected/);
  });

  it("is of any number of outputs, of which a message has twenty", async () => {
    const model = await loadDeclared('{f"o{n}": "float32" for n in range(25)}');
    await expect(ask(model, '{"p": 1}')).rejects.toThrow(/"o19", and 5 more\.$/);
  });
});

describe.skipIf(python === undefined)("a Python model", () => {
  it("returns bytes and texts with the zero bytes at their ends", async () => {
    expect(await ask(await load(), "zeros")).toMatchObject({
      one: { dtype: "bytes", shape: [], data: texts("ab\0\0") },
      list: { dtype: "bytes", shape: [2, 1], data: texts("a\0", "bc") },
      text: { dtype: "bytes", shape: [], data: texts("a\0") },
      texts: { dtype: "bytes", shape: [2], data: texts("a\0", "b\0") },
    });
  });

  it.each([
    [
      "masked",
      /^Output "y" is an array with masked values; expected a value for each, as filled\(value\) gives them\.$/,
    ],
    ["mixed", /^Output "y" has a int among its elements; expected strings\.$/],
    ["twice", /^The model returned two outputs of the name "a\.b"; expected names that differ as texts\.$/],
    ["panics", /^The model failed: Panic: index out of bounds$/],
    ["cancels", /^The model failed: CancelledError$/],
    ["unprintable", /^The model failed: Unprintable$/],
  ])("fails a request by %s, in a process that goes on", async (what, message) => {
    const model = await load();
    const pid = await numberOf(model, "pid");
    await expect(ask(model, what)).rejects.toMatchObject({ code: "internal", message: expect.stringMatching(message) });
    expect(await numberOf(model, "pid")).toBe(pid);
  });

  it("returns masked arrays in which nothing is masked", async () => {
    expect(await ask(await load(), "whole")).toEqual({ y: createTensor("float64", [2], Float64Array.of(1.5, 2.5)) });
  });

  it("does not run what its clients gave up before it had begun", async () => {
    const model = await load();
    for (let count = 0; count < 8; count++) {
      const cancel = new AbortController();
      const asked = ask(model, "sleeps", { signal: cancel.signal });
      setTimeout(() => cancel.abort(new DOMException("gone", "AbortError")), 10);
      await expect(asked).rejects.toMatchObject({ code: "cancelled" });
    }
    expect(await numberOf(model, "count")).toBe(model.concurrency);
  });

  it("gives hooks whole numbers that a number of JSON does not hold as tensors, and takes no number that is none", async () => {
    const model = await load();
    const { call } = model.hookArgs!.model as { call(method: string, args?: unknown[]): Promise<unknown> };
    expect(await call("exact")).toEqual({
      whole: createTensor("int64", [], BigInt64Array.of(9007199254740993n)),
      small: 2 ** 53,
    });
    await expect(call("exact", [[Number.NaN]])).rejects.toThrow(
      "An argument is NaN; expected tensors and plain data, with finite numbers.",
    );
  });
});
