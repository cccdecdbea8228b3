import { once } from "node:events";
import { createServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { deflateSync, gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { RemotePool } from "../../../src/client/remote/remote-pool.ts";
import { createRemoteService } from "../../../src/client/remote/remote-service.ts";
import { MemoryBudget } from "../../../src/platform/limits/memory/memory-budget.ts";
import { createTensor, createTensors } from "../../../src/tensor/tensor.ts";

const MAX_BYTES = 10_000_000;

function frame(message: Uint8Array, isCompressed = false): Buffer {
  const prefix = Buffer.from([isCompressed ? 1 : 0, 0, 0, 0, 0]);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** Rules of a span that a test can wait for. */
const RULES = { minClientRate: 10_000, spanMs: 300 };

/** A backend that answers each call as it likes, and a request to it, which counts memory or is one of a hook. */
async function start(answer: (stream: ServerHttp2Stream) => void, countsMemory = true) {
  const backend = createServer({ maxSessionMemory: 1000 });
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
  memory.overload.configure(RULES);
  const tensors = createTensors([["x", createTensor("float32", [1], Float32Array.of(1))]]);
  const infer = async () => {
    const share = memory.open(0, "a");
    const signal = new AbortController().signal;
    const inputs = { kind: "tensors", tensors } as const;
    try {
      const counted = countsMemory && { memory: share };
      return await remote.infer({
        ref: { model: "" },
        signature: "",
        inputs,
        call: { id: "1", metadata: {}, signal, ...counted },
      });
    } finally {
      share.release();
    }
  };
  return { infer, memory, address, tensors };
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

/** An answer of so many bytes, of which a part comes, and the rest never. */
function half(bytes: number, part: number) {
  return (stream: ServerHttp2Stream) => {
    stream.on("error", () => {});
    stream.respond({ ":status": 200, "content-type": "application/grpc" });
    stream.write(frame(Buffer.alloc(bytes)).subarray(0, part));
  };
}

test("an answer is counted as it comes, and what it held is released when its call ends", async () => {
  const { infer, memory } = await start((stream) => {
    half(6_000_000, 5_000_000)(stream);
    stream.once("close", () => {});
  });
  const failed = infer();
  failed.catch(() => {});
  await expect.poll(() => memory.heldBytes).toBeGreaterThanOrEqual(5_000_000);
  await expect(failed).rejects.toMatchObject({ code: "deadline_exceeded" });
  expect(memory.heldBytes).toBe(0);
});

test("answers for which there is no room are refused while they come", async () => {
  const { infer, memory } = await start(half(6_000_000, 5_999_999));
  const answers = await Promise.allSettled(Array.from({ length: 6 }, infer));
  const codes = answers.map((answer) => (answer.status === "rejected" ? answer.reason.code : "ok"));
  expect(codes).toContain("unavailable");
  expect(memory.heldBytes).toBe(0);
});

function drip(stream: ServerHttp2Stream): void {
  half(1000, 5)(stream);
  const sending = setInterval(() => stream.write(Buffer.alloc(1)), 50);
  stream.once("close", () => clearInterval(sending));
}

const TOO_SLOW = {
  code: "deadline_exceeded",
  message: expect.stringMatching(/^The server behind this one sends less than 10000 bytes per second/),
};

test("a backend that sends a byte now and then is given up, with a text that names it", async () => {
  const { infer } = await start(drip);
  await expect(infer()).rejects.toMatchObject(TOO_SLOW);
});

test("one that a hook calls is given up by the rule that its server has", async () => {
  const { address, tensors: inputs } = await start(drip);
  const pool = new RemotePool({ overload: RULES });
  onTestFinished(() => pool.close());
  const call = { metadata: {}, signal: new AbortController().signal };
  await expect(pool.predict(address, { inputs, model: "", signature: "", call })).rejects.toMatchObject(TOO_SLOW);
});

test("one that keeps its trailers back is given up likewise", async () => {
  const { infer } = await start(half(0, 5));
  await expect(infer()).rejects.toMatchObject({ code: "deadline_exceeded" });
});

test("one that computes for longer than that is waited for", async () => {
  const { infer } = await start((stream) => {
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    setTimeout(() => stream.end(frame(Buffer.alloc(0))), 5 * RULES.spanMs);
  });
  await expect(infer()).resolves.toMatchObject({ outputs: { kind: "tensors" } });
});

test("the answers to calls of hooks have a budget too", async () => {
  const { infer } = await start(half(9_000_000, 8_999_999), false);
  const leaving = Array.from({ length: 6 }, infer);
  const first = await Promise.race(leaving.map((each) => each.catch((reason: unknown) => reason)));
  expect(first).toMatchObject({ code: "unavailable" });
  for (const each of leaving) each.catch(() => {});
});
