import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { createTensor, type Tensor } from "../../../src/tensor/tensor.ts";
import { missingRuntime } from "../missing-runtime.ts";
import { predict } from "../predict.ts";
import { floats, loadModel, openModel } from "./open-model.ts";
import { openvinoModel } from "./openvino-cases.ts";
import { openvinoRuntime } from "./openvino-runtime.ts";

const missing = await missingRuntime("The openvino driver", openvinoRuntime);

/** Runs for some hundred milliseconds and more. */
const LARGE = floats([700, 700]);

describe.skipIf(missing !== undefined)("a model of the openvino driver", () => {
  it("takes inputs in memory that threads share, and at odd places", async () => {
    const model = await loadModel("dense");
    const shared = new Float32Array(new SharedArrayBuffer(16), 4, 3);
    shared.set([1, 2, 3]);
    const plain = await predict(model, { x: floats([1, 3], 1, 2, 3) });
    expect(await predict(model, { x: createTensor("float32", [1, 3], shared) })).toEqual(plain);
  });

  it("gives each output a buffer of its own that holds nothing else, so that it can be transferred", async () => {
    const model = await loadModel("add_multiply");
    const { sum, product } = (await predict(model, {
      x: floats([1, 4], 1, 2, 3, 4),
      y: floats([1, 4], 1, 1, 1, 1),
    })) as Record<string, Tensor<"float32">>;
    expect(sum?.data.buffer.byteLength).toBe(16);
    expect(sum?.data.buffer).not.toBe(product?.data.buffer);
  });

  it("carries strings of any bytes and lengths", async () => {
    const model = await loadModel("strings");
    const data = [
      new Uint8Array(),
      Uint8Array.of(0, 255, 0),
      new Uint8Array(15).fill(7),
      new Uint8Array(70_000).fill(9),
    ];
    const text = createTensor("bytes", [4], data);
    expect((await predict(model, { text })).same).toEqual(text);
  });

  it("is given no empty list of strings, for which OpenVINO would answer with those of the run before", async () => {
    const model = await loadModel("strings");
    await expect(predict(model, { text: createTensor("bytes", [0], []) })).rejects.toMatchObject({
      code: "invalid_argument",
      message: "OpenVINO does not compute on tensors of strings without elements.",
    });
  });

  it.each([
    ["type_i64", [expect.stringContaining("64-bit numbers in 32 bits")]],
    ["type_f64", [expect.stringContaining("64-bit numbers in 32 bits")]],
    ["carried", []],
    ["dense", []],
  ])("says at load when it cuts 64-bit numbers: %s", async (name, expected) => {
    const warnings: string[] = [];
    await loadModel(name, {}, { warn: (message: string) => warnings.push(message), info: () => {} } as never);
    expect(warnings).toEqual(expected);
  });

  it.each([
    ["type_i64", createTensor("int64", [3], BigInt64Array.of(-(2n ** 31n), 2n ** 31n - 1n, 2n ** 31n)), 2, 2n ** 31n],
    ["type_i64", createTensor("int64", [1], BigInt64Array.of(-(2n ** 31n) - 1n)), 0, -(2n ** 31n) - 1n],
    ["type_u64", createTensor("uint64", [1], BigUint64Array.of(2n ** 40n)), 0, 2n ** 40n],
    ["type_u64", createTensor("uint64", [2], BigUint64Array.of(2n ** 31n - 1n, 2n ** 31n)), 1, 2n ** 31n],
    ["type_u64", createTensor("uint64", [1], BigUint64Array.of(2n ** 64n - 1n)), 0, 2n ** 64n - 1n],
    ["type_f64", createTensor("float64", [3], Float64Array.of(Number.NaN, Number.POSITIVE_INFINITY, 1e300)), 2, 1e300],
  ])("is given no number that it would cut: %s", async (name, x, index, value) => {
    const model = await loadModel(name);
    await expect(predict(model, { x })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining(`Element ${index} of input "x" is ${value}, which 32 bits do not hold`),
    });
  });

  it("says at load when the weights may be another model's", async () => {
    const warnings: string[] = [];
    const log = { warn: (message: string) => warnings.push(message), info: () => {} } as never;
    await loadModel("dense", { model_weights: openvinoModel("convolutions").replace(".xml", ".bin") }, log);
    expect(warnings).toEqual([expect.stringContaining("more bytes than the model uses")]);
  });

  it.each([
    ["goes on from run to run", "keep", [1, 3]],
    ["begins again with each run where the option says so", "reset", [1, 2]],
  ])("with state %s", async (_what, state, totals) => {
    const model = await loadModel("accumulate", { state });
    expect(model.concurrency).toBe(1);
    const first = await predict(model, { x: floats([1, 2], 1, 0) });
    const second = await predict(model, { x: floats([1, 2], 2, 0) });
    expect([first.total?.data[0], second.total?.data[0]]).toEqual(totals);
  });

  it("ends a run whose deadline passes, and serves the next", async () => {
    const model = await loadModel("chain");
    await expect(predict(model, { x: LARGE }, { signal: AbortSignal.timeout(20) })).rejects.toMatchObject({
      code: "deadline_exceeded",
    });
    expect((await predict(model, { x: floats([1, 1], 1) })).y).toEqual(floats([1, 1], 1));
  });

  it("is loaded again when a run that OpenVINO does not end, as within a loop, leaves no room for others", async () => {
    const program = fileURLToPath(new URL("endless-run.ts", import.meta.url));
    const { stdout } = spawnSync(process.execPath, ["--import", "tsx", program], { encoding: "utf8", timeout: 50_000 });
    const [status, ...lines] = stdout.split("\n");
    // Two threads log, and on a busy machine the second may come first.
    expect([status, ...lines.splice(0, 2).toSorted(), ...lines]).toEqual([
      "504",
      "a model's thread has hung for N ms and is replaced",
      expect.stringMatching(/^runs whose requests are over do not end, .* the model is loaded again$/),
      "answered",
      "",
    ]);
  });

  it("lets go of a run whose request was cancelled, and ends it when it is closed", async () => {
    const model = await openModel("chain");
    const controller = new AbortController();
    const run = predict(model, { x: LARGE }, { signal: controller.signal });
    controller.abort();
    await expect(run).rejects.toMatchObject({ code: "cancelled" });
    await model.close();
  });

  it("answers the runs under way when it is closed, and refuses others", async () => {
    const model = await openModel("dense");
    const runs = Array.from({ length: 8 }, () => predict(model, { x: floats([1, 3]) }));
    await model.close();
    expect((await Promise.all(runs)).map(({ y }) => y?.shape)).toEqual(runs.map(() => [1, 2]));
    await expect(predict(model, { x: floats([1, 3]) })).rejects.toMatchObject({ code: "failed_precondition" });
  });

  it("runs as many requests at once as it has streams", async () => {
    const model = await loadModel("chain", { num_streams: "2" });
    expect(model.concurrency).toBe(2);
    const controller = new AbortController();
    const { signal } = controller;
    const slow = predict(model, { x: LARGE }, { signal }).catch(() => "slow");
    const quick = predict(model, { x: floats([1, 1], 1) }).then(() => "quick");
    expect(await Promise.race([slow, quick])).toBe("quick");
    controller.abort();
  });

  it.each([
    ["of another size than the weights take", floats([2, 4])],
    ["of another rank", floats([3])],
  ])("tells the client of an input %s", async (_what, x) => {
    const model = await loadModel("dense");
    await expect(predict(model, { x })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringMatching(/^The model failed: .* incompatible\. The inputs were x float32\[/),
    });
    expect((await predict(model, { x: floats([1, 3]) })).y?.shape).toEqual([1, 2]);
  });

  it("reports two inputs that do not match each other", async () => {
    const model = await loadModel("add_multiply");
    await expect(predict(model, { x: floats([2, 4]), y: floats([3, 4]) })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining("x float32[2,4], y float32[3,4]"),
    });
  });

  it("reports a wrong dtype", async () => {
    const model = await loadModel("dense");
    const x = createTensor("int32", [1, 3], new Int32Array(3));
    await expect(predict(model, { x })).rejects.toMatchObject({
      code: "invalid_argument",
      message: 'Input "x" is int32; the model takes float32.',
    });
  });
});
