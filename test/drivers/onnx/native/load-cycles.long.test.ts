import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { importOnnxRuntime } from "../../../../src/drivers/onnx/onnx-runtime.ts";
import { createTensor } from "../../../../src/tensor/tensor.ts";
import { missingRuntime } from "../../missing-runtime.ts";
import { predict } from "../../predict.ts";
import { openOnnx } from "../load-onnx.ts";

const missing = await missingRuntime("Memory of models by the C API of ONNX Runtime", importOnnxRuntime);

const MIB = 2 ** 20;
const text = createTensor("bytes", [1], [new TextEncoder().encode("größe")]);
const numbers = createTensor("float32", [1, 4], Float32Array.of(1, 2, 3, 4));
const endless = createTensor("int64", [], BigInt64Array.of(10_000_000n));

/**
 * Loads models, runs them until their runs are prepared, cancels a run, and frees the
 * models, half of them during that run.
 */
async function cycle(round: number): Promise<void> {
  const names = ["split-two-outputs.onnx", "identity-string.onnx", "slow.onnx"];
  const [split, echo, slow] = await Promise.all(names.map((name) => openOnnx(name, { engine: "native" })));
  for (let run = 0; run < 6; run++) expect((await predict(split!, { x: numbers })).right?.data[0]).toBe(3);
  expect((await predict(echo!, { x: text })).y).toEqual(text);
  const controller = new AbortController();
  const cancelled = predict(slow!, { iterations: endless }, { signal: controller.signal });
  const closing = round % 2 === 0 ? slow!.close() : undefined;
  setTimeout(() => controller.abort(), round % 7);
  await expect(cancelled).rejects.toMatchObject({ code: "cancelled" });
  await Promise.all([split!.close(), echo!.close(), closing ?? slow!.close()]);
}

async function residentAfter(rounds: number): Promise<number> {
  for (let round = 0; round < rounds; round++) await cycle(round);
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage.rss();
}

it.skipIf(missing !== undefined)("takes no more memory after 1000 loaded models than after 250", async () => {
  const before = await residentAfter(250);
  // Beside other work, what the allocator keeps has grown by 44 MiB.
  expect((await residentAfter(750)) - before).toBeLessThan(64 * MIB);
});
