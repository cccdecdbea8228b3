import { expect, it } from "vitest";
import { inferNumbers, inferText } from "../../src/serving/infer-text.ts";
import type { Lease } from "../../src/serving/inference-service.ts";
import { createTensor } from "../../src/tensor/tensor.ts";

/** A lease of hooks that send rows and columns of zeros. */
function leaseOf(rows: number, columns: number): Lease {
  const body = new Uint8Array(16 + 4 * rows * columns);
  new Uint32Array(body.buffer, 0, 4).set([rows, columns, 7]);
  const outputs = { kind: "tensors", tensors: { body: createTensor("uint8", [body.length], body) } };
  const answer = { outputs, metadata: {}, status: 200, contentType: "application/octet-stream" };
  return { infer: async () => answer } as unknown as Lease;
}

const ask = (entry: string, rows: number, columns: number) =>
  inferNumbers(leaseOf(rows, columns), { entry, request: new Uint8Array(0), call: { metadata: {} } as never }, rows);

it("takes one score for each document, and a vector for each text", async () => {
  expect(await ask("rerank", 2, 1)).toMatchObject({ rows: 2, columns: 1, promptTokens: 7 });
  expect(await ask("embed", 2, 3)).toMatchObject({ rows: 2, columns: 3 });
  await expect(ask("rerank", 2, 3)).rejects.toThrow("malformed answer");
});

it("takes no part with more bytes, or calls of tools, than hooks may send", async () => {
  const take = async (part: object) => {
    const body = Buffer.from(JSON.stringify(part));
    const outputs = { kind: "tensors", tensors: { body: createTensor("uint8", [body.length], body) } };
    const lease = { infer: async () => ({ outputs, metadata: {}, status: 200, contentType: "" }) } as unknown as Lease;
    const call = { metadata: {} } as never;
    await inferText(lease, { entry: "chat", request: new Uint8Array(0), call, take: async () => {} });
  };
  const call = { name: "f", arguments: "" };
  await take({ toolCalls: new Array(128).fill(call) });
  await expect(take({ toolCalls: new Array(129).fill(call) })).rejects.toThrow("malformed answer");
  await expect(take({ text: "x".repeat(4 * 1024 * 1024) })).rejects.toThrow("expected 4194304 at most");
});
