import { join } from "node:path";
import sharp from "sharp";
import { describe, expect, test } from "vitest";
import { createTensor, createTensors, type Tensors } from "../../../src/tensor/tensor.ts";
import { run } from "../../helpers/run-pipeline.ts";
import { startHookThreads } from "../../helpers/start-hook-threads.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

/** A model that gives back what it got: two pixels by two, channels last. */
const driver = (placement: string) => `
  import { defineDriver } from "kserving";
  export default defineDriver({
    name: "camera", options: {}, pathless: true, placement: "${placement}",
    load: async () => ({
      signatures: { serving_default: { inputs: [{ name: "x", dtype: "float32", shape: [-1, 2, 2, 3] }] } },
      predict: async ({ x }: any) => ({ y: { ...x, data: x.data.slice() } }),
      close: async () => {},
    }),
  });`;

/** Red, green, blue: 10, 20, 30 at the left, 110, 120, 130 at the right. */
const PIXELS = [10, 20, 30, 110, 120, 130];
const ROW = [30, 20, 10, 130, 120, 110];
const encoded = await sharp(Uint8Array.from(PIXELS), { raw: { width: 2, height: 1, channels: 3 } })
  .png()
  .toBuffer();
const image = createTensors([["x", createTensor("bytes", [1], [encoded])]]);

/** Inputs that the model got, of a request with this tensor. */
async function ask(source: string, tensors: Tensors, placement = "thread", options: Record<string, string> = {}) {
  const path = join(tempFolder({ "camera.ts": driver(placement) }), "camera.ts");
  const servable = await startHookThreads(source.replaceAll("CAMERA", JSON.stringify(path)), {
    stages: [{ driver: path, options }],
  });
  const { outputs } = await run(servable, { kind: "tensors", tensors });
  const { y } = outputs.kind === "tensors" ? outputs.tensors : {};
  return { shape: y?.shape, values: Array.from((y?.data ?? []) as Float32Array) };
}

const IMPORT = 'import { decodeImage } from "kserving";';
const WHOLE = { shape: [1, 2, 2, 3], values: [...ROW, ...ROW] };

describe.each([["thread"], ["inline"]])("a model that runs %s takes from a hook", (placement) => {
  test.each([
    [
      "what decodeImage gives",
      `${IMPORT} export const preprocess = async ({ x }: any) => ({ x: await decodeImage(x) });`,
    ],
    ["a Buffer, which is one image", `export const preprocess = ({ x }: any) => ({ x: Buffer.from(x.data[0]) });`],
    [
      "the same through ctx.drivers",
      `${IMPORT} export const process = async ({ x }: any, ctx: any) => ctx.drivers[0].predict({ x: await decodeImage(x) });`,
    ],
    [
      "the same through loadModel",
      `${IMPORT} export const init_hook = (_: any, ctx: any) => ctx.loadModel(CAMERA, "");
       export const process = async ({ x }: any, ctx: any) => ctx.global_ctx.predict({ x: await decodeImage(x) });`,
    ],
  ])("%s", async (_, source) => {
    expect(await ask(source, image, placement)).toEqual(WHOLE);
  });
});

test("a model of the server whose hooks have threads takes a Buffer of another model's hook as one image", async () => {
  const folder = tempFolder({
    "camera.ts": driver("thread"),
    "after.ts": "export const postprocess = (outputs: any) => outputs;",
    "caller.ts": `
      const photo = Buffer.from("${encoded.toString("base64")}", "base64");
      export const process = (_: any, ctx: any) => ctx.models.get("camera").predict({ x: photo });`,
  });
  const { httpUrl } = await startServer({
    models: {
      camera: { driver: join(folder, "camera.ts"), hooks: join(folder, "after.ts") },
      caller: { driver: "null", hooks: join(folder, "caller.ts") },
    },
  });
  const body = JSON.stringify({ inputs: [{ name: "any", datatype: "FP32", shape: [1], data: [0] }] });
  const answer = await fetch(`${httpUrl}/v2/models/caller/infer`, { method: "POST", body });
  const { shape, values: data } = WHOLE;
  expect(await answer.json()).toMatchObject({ outputs: [{ shape, data }] });
});

test("mean, scale and the order of colours are the model's own", async () => {
  const source = `${IMPORT} export const preprocess = async ({ x }: any) => ({ x: await decodeImage(x) });`;
  const { values } = await ask(source, image, "thread", { mean: "10", scale: "2", color_format: "RGB" });
  expect(values.slice(0, 6)).toEqual([0, 5, 10, 50, 55, 60]);
});

test("pixels that a client sends are no image: the model's shape counts", async () => {
  const pixels = createTensors([["x", createTensor("uint8", [1, 2, 3], Uint8Array.from(PIXELS))]]);
  const source = "export const postprocess = (outputs: any) => outputs;";
  await expect(ask(source, pixels)).rejects.toMatchObject({
    code: "invalid_argument",
    message: expect.stringContaining('Input "x" is uint8; the model takes float32'),
  });
});

describe("hooks that declare the model's own input", () => {
  const declaring = (shape: string) => `
    export const inputs = [{ name: "x", dtype: "float32", shape: ${shape} }];
    export const postprocess = (outputs: any) => outputs;`;

  test("leave it its images", async () => {
    expect(await ask(declaring("[-1, 2, 2, 3]"), image)).toEqual(WHOLE);
  });

  test("still take numbers, and refuse others", async () => {
    const numbers = (...shape: number[]) =>
      createTensors([["x", createTensor("float32", shape, new Float32Array(shape.reduce((a, b) => a * b, 1)))]]);
    expect((await ask(declaring("[-1, 2, 2, 3]"), numbers(3, 2, 2, 3))).shape).toEqual([3, 2, 2, 3]);
    await expect(ask(declaring("[-1, 2, 2, 3]"), numbers(2, 2, 3))).rejects.toMatchObject({ code: "invalid_argument" });
  });

  test("of another shape take no images", async () => {
    await expect(ask(declaring("[-1, 4, 4, 3]"), image)).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining('Input "x" is bytes'),
    });
  });
});
