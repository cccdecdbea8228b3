import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import sharp from "sharp";
import { expect, onTestFinished, test } from "vitest";
import { findDriver } from "../../../src/drivers/registry.ts";
import { startModel } from "../../../src/models/start-model.ts";
import { createSilentLogger } from "../../../src/observability/logger.ts";
import { createTensor, createTensors, type Tensor } from "../../../src/tensor/tensor.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

/** Runs in the main thread, takes images of 2 x 2 pixels and a factor, and returns what came. */
const DRIVER = `
import { createTensor, defineDriver } from "kserving";
const inputs = [
  { name: "x", dtype: "float32", shape: [-1, 2, 2, 3] },
  { name: "factor", dtype: "float32", shape: [], default: createTensor("float32", [], Float32Array.of(1)) },
];
export default defineDriver({
  name: "gallery",
  options: {},
  pathless: true,
  placement: "inline",
  load: async () => ({
    signatures: { serving_default: { inputs, outputs: inputs } },
    predict: async (inputs) => inputs,
    close: async () => {},
  }),
});`;

/** The model, and the threads that this process started since. */
async function startGallery() {
  const threads: Worker[] = [];
  const add = (worker: Worker) => threads.push(worker);
  process.on("worker", add);
  const found = await findDriver(join(tempFolder({ "gallery.ts": DRIVER }), "gallery.ts"));
  const log = createSilentLogger();
  const host = await startModel({ found, path: "", options: {} }, { instances: 1, modelStallMs: 0, log });
  onTestFinished(async () => {
    process.off("worker", add);
    await host.close();
    await found.dispose();
  });
  const predict = async (x: Tensor) => {
    const call = { signature: "serving_default", signal: new AbortController().signal };
    return host.handle.predict(createTensors([["x", x]]), call);
  };
  return { host, threads, predict };
}

const numbers = createTensor("float32", [1, 2, 2, 3], new Float32Array(12));

async function onePixel(): Promise<Tensor> {
  const pixel = sharp(Uint8Array.of(250, 20, 10), { raw: { width: 1, height: 1, channels: 3 } });
  return createTensor("bytes", [1], [await pixel.png().toBuffer()]);
}

test("images for a model in the main thread are preprocessed in a thread, which is there from the first image on", async () => {
  const { predict, threads } = await startGallery();
  await predict(numbers);
  expect(threads).toEqual([]);
  const image = await onePixel();
  const all = await Promise.all([predict(image), predict(image)]);
  for (const { x, factor } of all) {
    expect(x).toEqual(
      createTensor("float32", [1, 2, 2, 3], Float32Array.from([0, 1, 2, 3].flatMap(() => [10, 20, 250]))),
    );
    expect(factor?.data).toEqual(Float32Array.of(1));
  }
  expect(threads).toHaveLength(1);
});

test("what is no image is refused as everywhere, by the input's name", async () => {
  const { predict } = await startGallery();
  await expect(predict(createTensor("bytes", [1], [Buffer.from("text")]))).rejects.toMatchObject({
    code: "invalid_argument",
    message: expect.stringMatching(/^Image parsing failed: .*; input name: x$/),
  });
});

test("a preprocessing thread that ended is started again with the next image", async () => {
  const { predict, threads } = await startGallery();
  await predict(await onePixel());
  await threads[0]?.terminate();
  expect((await predict(await onePixel())).x?.shape).toEqual([1, 2, 2, 3]);
  expect(threads).toHaveLength(2);
});

test("a model that closes waits for the images that are preprocessed, then ends their thread", async () => {
  const { host, predict, threads } = await startGallery();
  const under = predict(await onePixel());
  await host.close();
  expect((await under).x?.shape).toEqual([1, 2, 2, 3]);
  expect(threads.map(({ threadId }) => threadId)).toEqual([-1]);
});
