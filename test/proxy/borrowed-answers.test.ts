import { expect, test } from "vitest";
import { borrowMemory } from "../../src/platform/limits/memory/memory-pool.ts";
import type { MemoryShare } from "../../src/platform/limits/memory/memory-share.ts";
import { createTensor, createTensors } from "../../src/tensor/tensor.ts";
import { ScriptedService } from "../grpc/scripted-service.ts";
import { serveHttp } from "./serve-http.ts";

const FLOATS = 400_000;
const floatsOf = (number: number) => Float32Array.from({ length: FLOATS }, (_, index) => number * 1000 + (index % 997));

/**
 * A server whose n-th answer are the floats of n, in memory that was borrowed for it;
 * `isKept` = a hook may have kept them.
 */
async function start({ isKept }: { readonly isKept: boolean }) {
  let asked = 0;
  const answered: Float32Array[] = [];
  const service = new ScriptedService(({ model, signature, memory }) => {
    const data = new Float32Array(borrowMemory(4 * FLOATS));
    data.set(floatsOf(asked++));
    answered.push(data);
    (memory as MemoryShare).isWireOnly = !isKept;
    const tensors = createTensors([["y", createTensor("float32", [FLOATS], data)]]);
    return { model, version: 1n, signature, outputs: { kind: "tensors", tensors }, metadata: {} };
  });
  const { url } = await serveHttp(service);
  const input = { name: "x", datatype: "FP32", shape: [1], data: [1] };
  const body = JSON.stringify({ inputs: [input], parameters: { binary_data_output: true } });
  const ask = () => fetch(`${url}/v2/models/m/infer`, { method: "POST", body });
  return { ask, answered };
}

async function floatsIn(response: Response): Promise<Float32Array> {
  return new Float32Array((await response.arrayBuffer()).slice(-4 * FLOATS));
}

const isSame = (data: Float32Array, expected: Float32Array) => Buffer.compare(toBytes(data), toBytes(expected)) === 0;
const toBytes = ({ buffer }: Float32Array) => new Uint8Array(buffer);

test("binary answers in borrowed memory keep apart, also for a client that reads late", async () => {
  const { ask } = await start({ isKept: false });
  const late = await ask();
  for (let number = 1; number < 8; number++) expect(isSame(await floatsIn(await ask()), floatsOf(number))).toBe(true);
  expect(isSame(await floatsIn(late), floatsOf(0))).toBe(true);
});

test("borrowed memory is returned once its answer was sent, unless a hook may have kept it", async () => {
  for (const isKept of [false, true]) {
    const { ask, answered } = await start({ isKept });
    // The second answer begins after the first was over.
    for (let count = 0; count < 2; count++) await floatsIn(await ask());
    await expect.poll(() => answered[0]?.length).toBe(isKept ? FLOATS : 0);
  }
});
