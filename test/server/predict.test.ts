import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { createServer, type Server } from "../../src/server/server.ts";
import type { ServerOptions } from "../../src/server/server-options.ts";
import { createTensor } from "../../src/tensor/tensor.ts";

const half = fileURLToPath(new URL("../fixtures/models/half-plus-two.onnx", import.meta.url));

/** A server without ports. */
async function open(options: ServerOptions): Promise<Server> {
  const server = await createServer({ listen: false, ...options });
  onTestFinished(() => server.close());
  return server;
}

test("a program runs a model of its own server without any port", async () => {
  const server = await open({ models: { half: { path: half } } });
  expect([server.grpcAddress, server.httpUrl]).toEqual(["", undefined]);
  const { y } = await server.predict("half", { x: [1, 2.5] });
  expect(y).toEqual(createTensor("float32", [2], new Float32Array([2.5, 3.25])));
  expect(Object.keys(await server.predict("half", { x: [1] }, { outputs: ["y"], version: 1 }))).toEqual(["y"]);
});

test("arrays that a program gives to predict stay its own", async () => {
  const server = await open({ models: { half: { path: half } } });
  const x = new Float32Array([2]);
  const tensor = createTensor("float32", [1], new Float32Array([4]));
  expect((await server.predict("half", { x })).y?.data).toEqual(new Float32Array([3]));
  expect((await server.predict("half", { x: tensor })).y?.data).toEqual(new Float32Array([4]));
  expect([x.length, tensor.data.length]).toEqual([1, 1]);
});

test("a typed array has the shape of the input where that leaves one size open at most", async () => {
  const hooks = {
    inputs: [{ name: "x", dtype: "float32", shape: [2, -1, 2] }] as const,
    process: (inputs: Readonly<Record<string, unknown>>) => inputs as never,
  };
  const server = await open({ models: { pairs: { driver: "null", hooks } } });
  expect((await server.predict("pairs", { x: new Float32Array(8) })).x?.shape).toEqual([2, 2, 2]);
  await expect(server.predict("pairs", { x: new Float32Array(7) })).rejects.toMatchObject({ code: "invalid_argument" });
});

test("a Buffer is a file of an image to an image input", async () => {
  const photo = readFileSync("examples/photos/portrait.jpg");
  const hooks = {
    preprocess: (inputs: Readonly<Record<string, unknown>>) => ({
      size: (inputs.image as { data: Uint8Array[] }).data[0]?.length ?? 0,
    }),
  };
  const server = await open({ models: { size: { driver: "null", hooks } } });
  expect((await server.predict("size", { image: photo })).size?.data[0]).toBe(photo.length);
});

test.each([
  ["an unknown model", "haf", { x: [1] }, {}, { code: "not_found" }],
  ["an unknown input", "half", { z: [1] }, {}, { code: "invalid_argument", message: 'The model has no input "z"' }],
  ["a text for numbers", "half", { x: ["a"] }, {}, { code: "invalid_argument", message: "x" }],
  ["an unknown output", "half", { x: [1] }, { outputs: ["z"] }, { code: "invalid_argument", message: "z" }],
  ["an unknown signature", "half", { x: [1] }, { signature: "s" }, { code: "failed_precondition", message: '"s"' }],
  ["an unknown version", "half", { x: [1] }, { version: 2n }, { code: "not_found" }],
])(
  "predict refuses %s",
  async (_, model, inputs, choices, { code, message = "" }: { code: string; message?: string }) => {
    const server = await open({ models: { half: { path: half } } });
    const refusal = server.predict(model, inputs, choices);
    await expect(refusal).rejects.toMatchObject({ code, message: expect.stringContaining(message) });
  },
);

test("predict ends by its time and by its signal", async () => {
  const hooks = { process: () => new Promise<never>(() => {}) };
  const server = await open({
    models: { stuck: { driver: "null", hooks } },
    hookTimeoutMs: 600_000,
    drainTimeoutMs: 10,
  });
  await expect(server.predict("stuck", { x: 1 }, { timeoutMs: 10 })).rejects.toMatchObject({
    code: "deadline_exceeded",
  });
  const leaving = new AbortController();
  const waits = server.predict("stuck", { x: 1 }, { signal: leaving.signal });
  leaving.abort();
  await expect(waits).rejects.toMatchObject({ code: "cancelled" });
});
