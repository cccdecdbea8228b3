import { expect, test } from "vitest";
import { findExampleInputs } from "../../src/models/find-example-inputs.ts";
import type { ModelHandle } from "../../src/models/model-handle.ts";
import type { TensorSpec } from "../../src/tensor/signature/signature.ts";
import type { Tensors } from "../../src/tensor/tensor.ts";

const IMAGE: TensorSpec = { name: "image", dtype: "float32", shape: [-1, 3, -1, -1] };

/** A model that runs on what a condition lets through; what it was given. */
function modelThat(accepts: (inputs: Tensors) => boolean, facts: Partial<ModelHandle> = { isPure: true }) {
  const given: Tensors[] = [];
  const predict = async (inputs: Tensors) => {
    given.push(inputs);
    if (!accepts(inputs)) throw new Error("of another size");
    return inputs;
  };
  return { model: { defaultSignature: "serving_default", predict, ...facts } as unknown as ModelHandle, given };
}

const width = (inputs: Tensors) => inputs.image?.shape.at(-1) ?? 0;

test("open sizes grow until the model runs, one row at a time, and are marked", async () => {
  const { model, given } = modelThat((inputs) => width(inputs) >= 32);
  expect(await findExampleInputs(model, { inputs: [IMAGE] })).toEqual({
    inputs: [{ name: "image", dtype: "float32", shape: [1, 3, 32, 32], element: 0 }],
    ran: true,
    guessed: ["image"],
  });
  expect(given.map(width)).toEqual([1, 8, 32]);
});

test("the size 1 of a model that runs on it is not marked", async () => {
  const { model } = modelThat(() => true);
  expect(await findExampleInputs(model, { inputs: [IMAGE] })).toMatchObject({ ran: true, guessed: [] });
});

test("a model whose rows are on another axis of its state is found too", async () => {
  const state: TensorSpec = { name: "state", dtype: "float32", shape: [2, -1, 128] };
  const sound: TensorSpec = { name: "sound", dtype: "float32", shape: [-1, -1] };
  const { model } = modelThat(({ sound, state }) => state?.shape[1] === 1 && (sound?.shape[1] ?? 0) > 100);
  const { inputs, ran } = await findExampleInputs(model, { inputs: [sound, state] });
  expect([ran, inputs.map(({ shape }) => shape)]).toEqual([
    true,
    [
      [1, 224],
      [2, 1, 128],
    ],
  ]);
});

test("the example saved with a model counts, and gives way to other values where the model does not run on it", async () => {
  const inputs: TensorSpec[] = [{ name: "x", dtype: "float32", shape: [-1], example: 3 }];
  const elementFor = async (...taken: unknown[]) => {
    const { model } = modelThat(({ x }) => taken.includes(x?.data[0]));
    const { ran, inputs: found } = await findExampleInputs(model, { inputs });
    return [ran, found[0]?.element];
  };
  expect(await elementFor(3, 0)).toEqual([true, 3]);
  expect(await elementFor(0, 1)).toEqual([true, 0]);
  expect(await elementFor()).toEqual([false, 3]);
});

test("a model that divides, or reads numbers in texts, gets ones", async () => {
  const isOne = (bytes: unknown) => Buffer.from(bytes as Uint8Array).toString() === "1";
  const { model } = modelThat(({ x, text }) => x?.data[0] === 1 && isOne(text?.data[0]));
  const inputs: TensorSpec[] = [
    { name: "x", dtype: "int32", shape: [-1] },
    { name: "text", dtype: "bytes", shape: [-1] },
  ];
  expect(await findExampleInputs(model, { inputs })).toMatchObject({ ran: true, inputs: [{ element: 1 }, {}] });
});

test("what may keep state, and what hooks stand before is not run, which is told", async () => {
  const stateful = modelThat(() => true, {});
  const untried = await findExampleInputs(stateful.model, { inputs: [IMAGE] });
  expect(untried).toMatchObject({ guessed: ["image"] });
  const hooked = await findExampleInputs(undefined, {});
  expect(hooked).toMatchObject({ inputs: [{ name: "x", shape: [3], element: 0.5 }], guessed: [] });
  for (const found of [untried, hooked]) expect(found).not.toHaveProperty("ran");
  expect(stateful.given).toEqual([]);
});

test("what is fixed, and a model that takes any inputs, are run too", async () => {
  const fixed: TensorSpec = { name: "x", dtype: "float32", shape: [1, 4] };
  for (const runs of [true, false]) {
    const { model, given } = modelThat(() => runs);
    expect(await findExampleInputs(model, { inputs: [fixed] })).toMatchObject({
      ran: runs,
      inputs: [{ shape: [1, 4] }],
    });
    expect(given.length).toBeGreaterThan(0);
    expect(await findExampleInputs(model, {})).toMatchObject({ ran: runs, guessed: [] });
  }
});

test("a model that runs on nothing that is tried gets the smallest inputs, which is told", async () => {
  const { model } = modelThat(() => false);
  expect(await findExampleInputs(model, { inputs: [IMAGE] })).toMatchObject({
    ran: false,
    inputs: [{ shape: [1, 3, 1, 1] }],
  });
});

test("defaults are left out, and large fixed inputs stay as they are without a try", async () => {
  const { model, given } = modelThat(() => true);
  const large: TensorSpec = { name: "x", dtype: "float32", shape: [-1, 4096, 4096] };
  const scalar: TensorSpec = {
    name: "k",
    dtype: "float32",
    shape: [],
    default: { dtype: "float32", shape: [], data: new Float32Array(1) },
  };
  const { inputs } = await findExampleInputs(model, { inputs: [large, scalar] });
  expect([inputs.map(({ shape }) => shape), given]).toEqual([[[1, 4096, 4096]], []]);
});

test("a model that never ends is given up after a while, and said to run still", async () => {
  let wasAborted = false;
  const predict = (_: Tensors, { signal }: { readonly signal: EventTarget }) => {
    signal.addEventListener("abort", () => {
      wasAborted = true;
    });
    return new Promise(() => {});
  };
  const model = { defaultSignature: "serving_default", isPure: true, predict } as unknown as ModelHandle;
  expect(await findExampleInputs(model, { inputs: [IMAGE] })).toMatchObject({ ran: false, stillRuns: true });
  expect(wasAborted).toBe(true);
});
