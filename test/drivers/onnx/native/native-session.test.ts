import { describe, expect, it } from "vitest";
import { importOnnxRuntime } from "../../../../src/drivers/onnx/onnx-runtime.ts";
import { createTensor } from "../../../../src/tensor/tensor.ts";
import { missingRuntime } from "../../missing-runtime.ts";
import { loadOnnx, openOnnx, predict } from "../load-onnx.ts";

const missing = await missingRuntime("Runs by the C API of ONNX Runtime", importOnnxRuntime);

const iterations = (count: bigint) => ({ iterations: createTensor("int64", [], BigInt64Array.of(count)) });
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

  it("carries bfloat16 both ways", async () => {
    const model = await loadOnnx("identity-bfloat16.onnx", { engine: "native" });
    const x = createTensor("bfloat16", [2], Uint16Array.of(0x3f80, 0xc000));
    expect((await predict(model, { x })).y).toEqual(x);
  });
});
