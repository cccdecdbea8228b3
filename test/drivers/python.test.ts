import { describe, expect, it, onTestFinished, vi } from "vitest";
import { DTYPES, type DType, type NumericDType, numericLayout } from "../../src/tensor/dtype.ts";
import { createTensor, type Tensor } from "../../src/tensor/tensor.ts";
import { findPython } from "../helpers/find-python.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { warmPython } from "../helpers/warm-python.ts";
import { describeDriver } from "./driver-contract.ts";
import { expectTensors } from "./expect-tensors.ts";
import { predict } from "./predict.ts";
import { IMPORT_PATH, loadModel } from "./python/load-model.ts";

const python = findPython("The python driver", ["numpy"]);
const warm = warmPython(python, "numpy");
const rows = (...values: number[]) => createTensor("float32", [values.length / 2, 2], Float32Array.from(values));
const scalar = (value: number) => createTensor("float32", [], Float32Array.of(value));

await describeDriver({
  name: "python",
  runtime: async () => {
    if (python === undefined) throw new Error("no Python with numpy");
  },
  modelPath: "test/fixtures/python/toy",
  options: { python: warm, model_class: "toy.models:Scale", import_path: IMPORT_PATH, "model.factor": "2" },
  samples: [
    { inputs: { x: rows(1, 2) }, expected: { y: rows(2, 4), sum: scalar(6) } },
    { inputs: { x: rows(0, 1, 2, 3) }, expected: { y: rows(0, 2, 4, 6), sum: scalar(12) } },
  ],
  exempt: [{ case: "recognises its own models and not every file", reason: "serves any class" }],
});

/** Two elements of each dtype, with bytes that differ. */
function sample(dtype: DType): Tensor {
  if (dtype === "bytes") return createTensor("bytes", [2], [Buffer.from("größe"), new Uint8Array([0, 255])]);
  if (dtype === "bool") return createTensor("bool", [2], Uint8Array.of(1, 0));
  const { array, slots } = numericLayout(dtype);
  const data = new array(2 * slots);
  new Uint8Array(data.buffer).forEach((_, index, bytes) => {
    bytes[index] = index + 1;
  });
  return createTensor(dtype as NumericDType, [2], data as never);
}

describe.skipIf(python === undefined)("the python driver", () => {
  const options = (name: string, more = {}) => ({
    options: { python: warm, model_class: `toy.models:${name}`, ...more },
  });

  it("carries every dtype both ways; bfloat16 comes to the class as float32", async () => {
    const model = await loadModel("python", "", options("Echo"));
    const inputs = Object.fromEntries(
      DTYPES.filter((dtype) => dtype !== "bfloat16").map((each) => [each, sample(each)]),
    );
    expectTensors(await predict(model, inputs), inputs);
    const half = createTensor("bfloat16", [2], Uint16Array.of(0x3fc0, 0xc000));
    expect(await predict(model, { half })).toEqual({ half: createTensor("float32", [2], Float32Array.of(1.5, -2)) });
  });

  it("refuses a shape that numpy does not have, and answers the next request", async () => {
    const model = await loadModel("python", "", options("Echo"));
    for (const shape of [new Array<number>(100).fill(1), [0, ...new Array<number>(4).fill(2 ** 31 - 1)]]) {
      const x = createTensor("float32", shape, new Float32Array(shape[0] as number));
      await expect(predict(model, { fine: scalar(1), x })).rejects.toMatchObject({
        code: "invalid_argument",
        message: expect.stringContaining(`Input "x" of ${shape.length} dimensions is no array for numpy: `),
      });
      expect(await predict(model, { x: scalar(1) })).toEqual({ x: scalar(1) });
    }
  });

  it("carries empty tensors, scalars and names of any kind", async () => {
    const model = await loadModel("python", "", options("Echo"));
    const inputs = {
      __proto__x: scalar(1),
      größe: createTensor("int64", [0, 3], new BigInt64Array()),
      t: createTensor("bytes", [0], []),
    };
    expect(await predict(model, inputs)).toEqual(inputs);
  });

  it.each([1 << 14, 1 << 15, 150_528, 1 << 20])(
    "carries %d floats both ways, several requests at once",
    async (count) => {
      const model = await loadModel("python", "", options("Echo"));
      const tensors = [1, 2, 3, 4, 5].map((value) =>
        createTensor("float32", [count], new Float32Array(count).fill(value)),
      );
      const answers = await Promise.all(tensors.map((x) => predict(model, { x, small: scalar(1) })));
      for (const [index, { x }] of answers.entries()) expect(Buffer.compare(bytes(x), bytes(tensors[index]))).toBe(0);
    },
  );

  it("leaves a model the inputs that it keeps", async () => {
    const model = await loadModel("python", "", options("Previous"));
    const large = (value: number) => createTensor("float32", [100_000], new Float32Array(100_000).fill(value));
    await predict(model, { x: large(1) });
    for (let value = 2; value < 6; value++) {
      const { y } = await predict(model, { x: large(value) });
      expect((y as Tensor<"float32">).data[99_999]).toBe(value - 1);
    }
  });

  it("gives the class its arguments and its options, and hooks its methods", async () => {
    const model = await loadModel("python", "", options("Scale", { model_args: '{"bias": 1}', "model.factor": "3" }));
    expect(await predict(model, { x: rows(1, 2) })).toMatchObject({ y: rows(4, 7) });
    const { call } = model.hookArgs!.model as { call(method: string, args: unknown[]): Promise<unknown> };
    expect(await call("greet", ["you", Float32Array.of(1, 2)])).toMatchObject({
      hello: "you",
      doubled: { dtype: "float32", data: Float32Array.of(2, 4) },
    });
    await expect(call("great", [])).rejects.toMatchObject({
      code: "invalid_argument",
      message: 'The model has no method "great".',
    });
  });

  it.each([
    ["toy.models:Scales", /^The module "toy.models" has no class "Scales"\. Did you mean "Scale"\?$/],
    ["toy.modelss:Scale", /^There is no module "toy.modelss"; looked for it in/],
    [
      "toy.models:Throwing",
      /^Throwing could not be created: models.py:\d+ in __init__: raise KeyError\(.*\); KeyError: 'no such thing'\.$/,
    ],
    ["toy.models:NoPredict", /has no method predict\(inputs\)/],
    ["Scale", /model_class is "Scale"; expected package.module:Class/],
  ])("says what is wrong with the class %s", async (model_class, message) => {
    const loading = loadModel("python", "", { options: { python: warm, model_class } });
    await expect(loading).rejects.toThrow(message);
  });

  it("names the parameters where the arguments do not fit", async () => {
    const loading = loadModel("python", "", options("Scale", { model_args: '{"factor": 1}' }));
    await expect(loading).rejects.toThrow("It takes (bias=0); -o model_args gives them as JSON.");
  });

  it.each(["{", "3", "null"])("refuses %s as model_args", async (model_args) => {
    await expect(loadModel("python", "", options("Scale", { model_args }))).rejects.toMatchObject({
      code: "invalid_argument",
    });
  });

  it("imports from the folders of PYTHONPATH too", async () => {
    vi.stubEnv("PYTHONPATH", tempFolder({ "elsewhere.py": "from toy.models import Echo\n" }));
    onTestFinished(() => void vi.unstubAllEnvs());
    const model_class = "elsewhere:Echo";
    const model = await loadModel("python", "", { options: { python: python ?? "", model_class } });
    expect(await predict(model, { x: scalar(3) })).toEqual({ x: scalar(3) });
  });

  it("asks for a class", async () => {
    await expect(loadModel("python", "")).rejects.toThrow("-o model_class=package.module:Model");
  });
});

function bytes(tensor: Tensor | undefined): Uint8Array {
  const { data } = tensor as Tensor<"float32">;
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}
