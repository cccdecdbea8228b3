import { describe, expect, test } from "vitest";
import type { Driver, Model, PredictCall } from "../../src/drivers/driver.ts";
import { flexibleBatch, loadHostedModel } from "../../src/models/load-hosted-model.ts";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { CancelSource } from "../../src/platform/async/cancel-source.ts";
import { toNested } from "../../src/tensor/elements.ts";
import { toTensors, type Values } from "../../src/tensor/plain-value.ts";
import { DEFAULT_SIGNATURE, type TensorSpec } from "../../src/tensor/signature/signature.ts";
import { createTensor, type Tensors } from "../../src/tensor/tensor.ts";

test("a batch has no more rows than the inputs' bounds allow", async () => {
  const runs: unknown[] = [];
  const driver: Driver<Record<string, never>> = {
    name: "bounded",
    options: {},
    load: async () => ({
      signatures: { serving_default: { inputs: [{ name: "x", dtype: "int32", shape: [{ min: 1, max: 3 }] }] } },
      predict: async (inputs) => {
        runs.push(inputs.x?.shape[0]);
        return inputs;
      },
      close: async () => {},
    }),
  };
  const options = { max_batch_size: "8", allowed_batch_sizes: "2,8" };
  const model = await loadHostedModel({ driver, path: "", options, threads: 1 }, createSilentLogger());
  const call = { signature: "serving_default", signal: new CancelSource() };
  await Promise.all([1, 2, 3, 4].map((x) => model.predict(toTensors({ x: [x] }), call)));
  expect(runs).toEqual([3, 2]);
  expect(model.maxBatchSize).toBe(3);
  await model.close();
});

const call: PredictCall = { signature: DEFAULT_SIGNATURE, signal: new AbortController().signal };

/** Takes `rows` rows of two numbers at once, and gives the sum of each. */
function fixedModel(rows: number, inputs: readonly TensorSpec[] = [{ name: "x", dtype: "float64", shape: [rows, 2] }]) {
  const runs: number[] = [];
  let closes = 0;
  const model: Model = {
    signatures: { [DEFAULT_SIGNATURE]: { inputs, outputs: [{ name: "y", dtype: "float64", shape: [rows] }] } },
    predict: async ({ x }: Tensors) => {
      const pairs = toNested(x as never, (element) => element) as [number, number][];
      runs.push(pairs.length);
      return {
        y: createTensor(
          "float64",
          [pairs.length],
          Float64Array.from(pairs, ([a, b]) => a + b),
        ),
      };
    },
    close: async () => {
      closes++;
    },
  };
  return { model, runs, closes: () => closes };
}

const predict = async (model: Model, inputs: Values, how = call) => {
  const { y } = await model.predict(toTensors(inputs), how);
  return Array.from(y?.data as Float64Array);
};

describe("a model with a fixed first dimension", () => {
  test.each([
    [1, 1, [1]],
    [1, 3, [1, 1, 1]],
    [2, 4, [2, 2]],
    [2, 2, [2]],
  ])("of %i runs %i rows in parts, and their outputs come together in order", async (size, rows, parts) => {
    const { model, runs } = fixedModel(size);
    const x = Array.from({ length: rows }, (_, row) => [row + 0.5, 1]);
    expect(await predict(flexibleBatch(model), { x })).toEqual(x.map(([a]) => Number(a) + 1));
    expect(runs).toEqual(parts);
  });

  test("then says that it takes any number of rows", () => {
    const { model } = fixedModel(2);
    const { inputs, outputs } = flexibleBatch(model).signatures[DEFAULT_SIGNATURE] ?? {};
    expect([inputs?.[0]?.shape, outputs?.[0]?.shape]).toEqual([[-1, 2], [-1]]);
  });

  test("refuses rows that do not come out even, and none", async () => {
    const flexible = flexibleBatch(fixedModel(2).model);
    await expect(predict(flexible, { x: [[1, 2]] })).rejects.toMatchObject({
      code: "invalid_argument",
      message: "The inputs have 1 rows; expected one or more times 2, which the model takes at once.",
    });
    const none = { x: createTensor("float64", [0, 2], new Float64Array(0)) };
    await expect(predict(flexible, none)).rejects.toThrow(/The inputs have 0 rows/);
  });

  test("refuses a model whose outputs have no row for each of its inputs'", async () => {
    const { model } = fixedModel(2);
    const sum: Model = {
      ...model,
      predict: async () => ({ y: createTensor("float64", [1], Float64Array.of(3)) }),
    };
    const rows = {
      x: [
        [1.5, 2],
        [3, 4],
        [5, 6],
        [7, 8],
      ],
    };
    await expect(predict(flexibleBatch(sum), rows)).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringContaining('"y" has shape [1] for 2 rows'),
    });
  });

  test("refuses inputs with different numbers of rows", async () => {
    const inputs = ["x", "z"].map((name) => ({ name, dtype: "float64", shape: [1, 2] }) as const);
    const flexible = flexibleBatch(fixedModel(1, inputs).model);
    await expect(
      predict(flexible, {
        x: [[1.5, 2]],
        z: [
          [1, 2],
          [3, 4],
        ],
      }),
    ).rejects.toMatchObject({
      code: "invalid_argument",
      message: 'Input "z" has 2 rows, but "x" has 1.',
    });
  });

  test("stops between two parts when its request is over", async () => {
    const controller = new AbortController();
    const { model, runs } = fixedModel(1);
    const { predict: run } = model;
    const cancelling: Model = {
      ...model,
      predict: (inputs, how) => {
        controller.abort(new Error("gone"));
        return run(inputs, how);
      },
    };
    const how = { ...call, signal: controller.signal };
    await expect(
      predict(
        flexibleBatch(cancelling),
        {
          x: [
            [1.5, 2],
            [3, 4],
          ],
        },
        how,
      ),
    ).rejects.toThrow("gone");
    expect(runs).toEqual([1]);
  });

  test("lets the event loop turn between two parts, so that it notices that its request is over", async () => {
    const controller = new AbortController();
    const { model, runs } = fixedModel(1);
    setImmediate(() => controller.abort(new Error("gone")));
    const how = { ...call, signal: controller.signal };
    const x = Array.from({ length: 50 }, () => [1.5, 2]);
    await expect(predict(flexibleBatch(model), { x }, how)).rejects.toThrow("gone");
    expect(runs.length).toBeLessThan(5);
  });

  test("is closed once by who closes it", async () => {
    const { model, closes } = fixedModel(1);
    await flexibleBatch(model).close();
    expect(closes()).toBe(1);
  });
});

test.each([
  ["that takes any number of rows", [{ name: "x", dtype: "float64", shape: [-1, 2] }]],
  [
    "whose inputs differ in it",
    [
      { name: "x", dtype: "float64", shape: [1] },
      { name: "z", dtype: "float64", shape: [2] },
    ],
  ],
  ["that takes a scalar", [{ name: "x", dtype: "float64", shape: [] }]],
] as const)("a model %s is refused, saying what it has", (_, inputs) => {
  expect(() => flexibleBatch(fixedModel(1, inputs).model)).toThrow(
    /^flexible_batch_size needs inputs with one fixed first dimension; these have /,
  );
});
