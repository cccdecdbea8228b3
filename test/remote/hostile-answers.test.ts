import { once } from "node:events";
import { createServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { deflateSync, gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { MemoryBudget } from "../../src/limits/memory/memory-budget.ts";
import { createRemoteService } from "../../src/remote/remote-service.ts";
import { createTensor, createTensors } from "../../src/tensor/tensor.ts";

const MAX_BYTES = 10_000_000;

function frame(message: Uint8Array, isCompressed = false): Buffer {
  const prefix = Buffer.from([isCompressed ? 1 : 0, 0, 0, 0, 0]);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** A backend that answers each call as it likes, and a request to it. */
async function start(answer: (stream: ServerHttp2Stream) => void) {
  const backend = createServer();
  backend.on("stream", answer);
  backend.on("sessionError", () => {});
  backend.listen(0, "127.0.0.1");
  await once(backend, "listening");
  const address = `127.0.0.1:${(backend.address() as AddressInfo).port}`;
  const remote = createRemoteService(address, { maxMessageBytes: MAX_BYTES });
  onTestFinished(async () => {
    await remote.close();
    backend.close();
  });
  const memory = new MemoryBudget(MAX_BYTES);
  const tensors = createTensors([["x", createTensor("float32", [1], Float32Array.of(1))]]);
  const infer = async () => {
    const share = memory.open(0, "a");
    const signal = new AbortController().signal;
    const inputs = { kind: "tensors", tensors } as const;
    try {
      return await remote.infer({ model: "", signature: "", id: "1", metadata: {}, signal, inputs, memory: share });
    } finally {
      share.release();
    }
  };
  return { infer, memory };
}

function respond(stream: ServerHttp2Stream, headers: Record<string, string>, body: Buffer): void {
  stream.on("error", () => {});
  stream.respond({ ":status": 200, "content-type": "application/grpc", ...headers }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  stream.end(body);
}

test.each([
  ["gzip", gzipSync],
  ["deflate", deflateSync],
] as const)("answers that %s makes small are inflated within the memory of requests", async (encoding, compress) => {
  const bomb = frame(compress(Buffer.alloc(MAX_BYTES - 1000)), true);
  const { infer, memory } = await start((stream) => respond(stream, { "grpc-encoding": encoding }, bomb));
  let most = 0;
  const look = setInterval(() => {
    most = Math.max(most, memory.heldBytes);
  }, 1);
  const answers = await Promise.allSettled(Array.from({ length: 8 }, infer));
  clearInterval(look);
  const codes = answers.map((answer) => (answer.status === "rejected" ? answer.reason.code : "ok"));
  expect(codes).toContain("unavailable");
  expect(most).toBeLessThanOrEqual(2 * MAX_BYTES);
  expect(memory.heldBytes).toBe(0);
});

test("one that becomes more than a message may have is refused, as is one that is no gzip", async () => {
  const bodies = [gzipSync(Buffer.alloc(2 * MAX_BYTES)), Buffer.from("none")];
  const { infer } = await start((stream) =>
    respond(stream, { "grpc-encoding": "gzip" }, frame(bodies.shift() as Buffer, true)),
  );
  await expect(infer()).rejects.toMatchObject({ code: "resource_exhausted" });
  await expect(infer()).rejects.toMatchObject({ code: "internal" });
});

test("a compressed answer is read as any other", async () => {
  const { infer } = await start((stream) =>
    respond(stream, { "grpc-encoding": "gzip" }, frame(gzipSync(Buffer.alloc(0)), true)),
  );
  await expect(infer()).resolves.toMatchObject({ outputs: { kind: "tensors" } });
});

test("two messages in the answer to one request fail at once", async () => {
  const { infer } = await start((stream) =>
    respond(stream, {}, Buffer.concat([frame(Buffer.alloc(0)), frame(Buffer.alloc(0))])),
  );
  await expect(infer()).rejects.toThrow(/too many responses/i);
});
