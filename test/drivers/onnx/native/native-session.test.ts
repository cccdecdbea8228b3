import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { importOnnxRuntime } from "../../../../src/drivers/onnx/onnx-runtime.ts";
import { createTensor, type Tensors } from "../../../../src/tensor/tensor.ts";
import { encodeModel, type OnnxGraph } from "../../../fixtures/make/onnx-writer.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";
import { missingRuntime } from "../../missing-runtime.ts";
import { predict } from "../../predict.ts";
import { loadOnnx, openOnnx } from "../load-onnx.ts";

const missing = await missingRuntime("Runs by the C API of ONNX Runtime", importOnnxRuntime);

const iterations = (count: bigint) => ({ iterations: createTensor("int64", [], BigInt64Array.of(count)) });
/** The places of numbers other than 0, which depend on the numbers. */
const PLACES_OF_ONES = {
  name: "places",
  inputs: [{ name: "x", type: { elemType: "float32", shape: ["N"] } }],
  outputs: [{ name: "y", type: { elemType: "int64", shape: [1, "M"] } }],
  nodes: [{ op: "NonZero", inputs: ["x"], outputs: ["y"] }],
} as const;
/** Adds a constant. */
function plus(value: number): OnnxGraph {
  const list = { elemType: "float32", shape: ["N"] } as const;
  return {
    name: "plus",
    inputs: [{ name: "x", type: list }],
    outputs: [{ name: "y", type: list }],
    initializers: [{ name: "value", dtype: "float32", shape: [1], data: Float32Array.of(value) }],
    nodes: [{ op: "Add", inputs: ["x", "value"], outputs: ["y"] }],
  };
}
/** A product that takes milliseconds. */
const SIDE = 512;
const SQUARE = {
  name: "square",
  inputs: [{ name: "x", type: { elemType: "float32", shape: [SIDE, SIDE] } }],
  outputs: [{ name: "y", type: { elemType: "float32", shape: [SIDE, SIDE] } }],
  nodes: [{ op: "MatMul", inputs: ["x", "x"], outputs: ["y"] }],
} as const;
/** Takes minutes. */
const ENDLESS = iterations(10_000_000n);

describe.skipIf(missing !== undefined)("a run by the C API", () => {
  it("ends when its request is over, so that the next one runs", async () => {
    const model = await loadOnnx("slow.onnx", { engine: "native" });
    const controller = new AbortController();
    const run = predict(model, ENDLESS, { signal: controller.signal });
    setImmediate(() => controller.abort());
    await expect(run).rejects.toMatchObject({ code: "cancelled" });
    expect((await predict(model, iterations(1n))).y?.shape).toEqual([192, 192]);
  });

  it("ends at the request's deadline", async () => {
    const model = await loadOnnx("slow.onnx", { engine: "native" });
    const run = predict(model, ENDLESS, { signal: AbortSignal.timeout(50) });
    await expect(run).rejects.toMatchObject({ code: "deadline_exceeded" });
  });

  it("leaves the thread to others while it is slow", async () => {
    const model = await openOnnx("slow.onnx", { engine: "native" });
    const order: string[] = [];
    const run = predict(model, iterations(500n)).then(() => order.push("run"));
    await new Promise(setImmediate);
    order.push("other work");
    await run;
    await model.close();
    expect(order).toEqual(["other work", "run"]);
  });

  it("blocks its thread where the pool has no room for it", async () => {
    const poolCalls = new SharedArrayBuffer(4);
    new Int32Array(poolCalls).fill(1000);
    const model = await openOnnx("slow.onnx", { engine: "native" }, { poolCalls });
    const order: string[] = [];
    setImmediate(() => order.push("other work"));
    await predict(model, iterations(1n)).then(() => order.push("run"));
    await new Promise(setImmediate);
    await model.close();
    expect(order).toEqual(["run", "other work"]);
    expect(new Int32Array(poolCalls)[0]).toBe(1000);
  });

  it("blocks its thread for the milliseconds of a model whose runs have always been as short", async () => {
    const path = tempFolder({ "model.onnx": encodeModel({ opset: 17, graph: SQUARE }) });
    const model = await openOnnx(`${path}/model.onnx`, { engine: "native" });
    const x = createTensor("float32", [SIDE, SIDE], new Float32Array(SIDE * SIDE).fill(1));
    for (let run = 0; run < 3; run++) await predict(model, { x });
    const order: string[] = [];
    setImmediate(() => order.push("other work"));
    await predict(model, { x }).then(() => order.push("run"));
    await new Promise(setImmediate);
    await model.close();
    expect(order).toEqual(["run", "other work"]);
  });

  it("can be ended although earlier ones were quick, where its duration depends on values", async () => {
    const model = await loadOnnx("slow.onnx", { engine: "native" });
    for (let run = 0; run < 6; run++) await predict(model, iterations(1n));
    await expect(predict(model, ENDLESS, { signal: AbortSignal.timeout(50) })).rejects.toMatchObject({
      code: "deadline_exceeded",
    });
  });

  it("gives outputs of other shapes than those of earlier runs on inputs of the same shapes", async () => {
    const path = tempFolder({ "model.onnx": encodeModel({ opset: 17, graph: PLACES_OF_ONES }) });
    const model = await loadOnnx(`${path}/model.onnx`, { engine: "native" });
    const places = async (...x: number[]) =>
      (await predict(model, { x: createTensor("float32", [x.length], Float32Array.from(x)) })).y?.shape;
    for (let run = 0; run < 8; run++) expect(await places(1, 0, 1)).toEqual([1, 2]);
    expect(await places(1, 1, 1)).toEqual([1, 3]);
    expect(await places(0, 0, 0)).toEqual([1, 0]);
    for (let run = 0; run < 8; run++) expect(await places(1, 0, 1)).toEqual([1, 2]);
  });

  it("fails as before after runs that were prepared for its shapes, and leaves the next ones right", async () => {
    const model = await loadOnnx("fails-at-run.onnx", { engine: "native" });
    const pick = (place: bigint) => predict(model, { index: createTensor("int64", [1], BigInt64Array.of(place)) });
    for (let run = 0; run < 8; run++) expect((await pick(2n)).value?.data).toEqual(Float32Array.of(30));
    await expect(pick(3n)).rejects.toMatchObject({ message: expect.stringContaining("idx=3") });
    for (const [place, value] of [10, 20, 30].entries())
      expect((await pick(BigInt(place))).value?.data).toEqual(Float32Array.of(value));
  });

  it.each([16, 5000])("gives outputs of their own to runs in a row, of %i numbers", async (count) => {
    const model = await loadOnnx("identity-float32.onnx", { engine: "native" });
    const answers: (readonly [number, Promise<Tensors>])[] = [];
    for (let run = 0; run < 10; run++) {
      const x = createTensor("float32", [count], new Float32Array(count).fill(run));
      answers.push([run, predict(model, { x })]);
      await answers.at(-1)?.[1];
    }
    for (const [run, answer] of answers) expect((await answer).y?.data).toEqual(new Float32Array(count).fill(run));
  });

  it("gives an input that is an output as it is, each time", async () => {
    const id = { name: "id", type: { elemType: "int64", shape: ["n"] } } as const;
    const x = { name: "x", type: { elemType: "float32", shape: ["n"] } } as const;
    const y = { ...x, name: "y" };
    const nodes = [{ op: "Neg", inputs: ["x"], outputs: ["y"] }];
    const graph = { name: "keys", inputs: [id, x], outputs: [id, y], nodes };
    const path = `${tempFolder({ "model.onnx": encodeModel({ opset: 17, graph }) })}/model.onnx`;
    const model = await openOnnx(path, { engine: "native" });
    for (let run = 1; run < 8; run++) {
      const key = createTensor("int64", [2], BigInt64Array.of(BigInt(run), 7n));
      const answer = await predict(model, { id: key, x: createTensor("float32", [2], Float32Array.of(run, 1)) });
      expect(answer.id?.data).toEqual(key.data);
      expect(answer.y?.data).toEqual(Float32Array.of(-run, -1));
    }
  });

  it("carries bfloat16 both ways", async () => {
    const model = await loadOnnx("identity-bfloat16.onnx", { engine: "native" });
    const x = createTensor("bfloat16", [2], Uint16Array.of(0x3f80, 0xc000));
    expect((await predict(model, { x })).y).toEqual(x);
  });

  it("uses one session for all copies of a model, until the last of them is closed", async () => {
    const addend = (value: number) => encodeModel({ opset: 17, graph: plus(value) });
    const path = `${tempFolder({ "model.onnx": addend(1) })}/model.onnx`;
    const copies = { count: 2, memory: new SharedArrayBuffer(64) };
    const load = () => openOnnx(path, { engine: "native" }, { copies });
    const x = createTensor("float32", [1], Float32Array.of(1));
    const first = await load();
    writeFileSync(path, addend(10));
    const second = await load();
    const answers = await Promise.all([predict(first, { x }), predict(second, { x })]);
    expect(answers.map(({ y }) => y?.data)).toEqual([Float32Array.of(2), Float32Array.of(2)]);
    await first.close();
    expect((await predict(second, { x })).y?.data).toEqual(Float32Array.of(2));
    await second.close();
    const third = await load();
    expect((await predict(third, { x })).y?.data).toEqual(Float32Array.of(11));
    await third.close();
  });
});
