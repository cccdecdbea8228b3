import type { ServerHttp2Stream } from "node:http2";
import { deflateSync, gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { RemotePool } from "../../../src/client/remote/remote-pool.ts";
import { toTensors } from "../../../src/tensor/plain-value.ts";
import {
  begin,
  codesOf,
  drip,
  frame,
  MAX_BYTES,
  mostHeld,
  RULES,
  sendInPieces,
  startBackend,
  TOO_SLOW,
} from "./hostile-backend.ts";

function respond(stream: ServerHttp2Stream, headers: Record<string, string>, body: Buffer): void {
  begin(stream, headers);
  stream.end(body);
}

test.each([
  ["gzip", gzipSync],
  ["deflate", deflateSync],
] as const)("answers that %s makes small are inflated within the memory of requests", async (encoding, compress) => {
  const bomb = frame(compress(Buffer.alloc(MAX_BYTES - 1000)), true);
  const { infer, memory } = await startBackend((stream) => respond(stream, { "grpc-encoding": encoding }, bomb));
  const answers = codesOf(Array.from({ length: 8 }, () => infer()));
  expect(await mostHeld(memory, answers)).toBeLessThanOrEqual(2 * MAX_BYTES);
  expect(await answers).toContain("unavailable");
  // What was being inflated for a call that has ended is held until it is done.
  await expect.poll(() => memory.heldBytes).toBe(0);
});

test("one that becomes more than a message may have is refused, as is one that is no gzip", async () => {
  const bodies = [gzipSync(Buffer.alloc(2 * MAX_BYTES)), Buffer.from("none")];
  const { infer } = await startBackend((stream) =>
    respond(stream, { "grpc-encoding": "gzip" }, frame(bodies.shift() as Buffer, true)),
  );
  await expect(infer()).rejects.toMatchObject({ code: "resource_exhausted" });
  await expect(infer()).rejects.toMatchObject({ code: "internal" });
});

test("a compressed answer is read as any other", async () => {
  const { infer } = await startBackend((stream) =>
    respond(stream, { "grpc-encoding": "gzip" }, frame(gzipSync(Buffer.alloc(0)), true)),
  );
  await expect(infer()).resolves.toMatchObject({ outputs: { kind: "tensors" } });
});

test("two messages in the answer to one request fail at once", async () => {
  const { infer } = await startBackend((stream) =>
    respond(stream, {}, Buffer.concat([frame(Buffer.alloc(0)), frame(Buffer.alloc(0))])),
  );
  await expect(infer()).rejects.toThrow(/too many responses/i);
});

/** An answer of so many bytes, of which a part comes, and the rest never. */
function half(bytes: number, part: number) {
  return (stream: ServerHttp2Stream) => {
    begin(stream);
    stream.write(frame(Buffer.alloc(bytes)).subarray(0, part));
  };
}

test("an answer is counted as it comes, and what it held is released when its call ends", async () => {
  const { infer, memory } = await startBackend(half(6_000_000, 5_000_000));
  const failed = infer();
  failed.catch(() => {});
  await expect.poll(() => memory.heldBytes).toBeGreaterThanOrEqual(5_000_000);
  await expect(failed).rejects.toMatchObject({ code: "deadline_exceeded" });
  expect(memory.heldBytes).toBe(0);
});

test("answers for which there is no room are refused while they come", async () => {
  const { infer, memory } = await startBackend(half(6_000_000, 5_999_999));
  expect(await codesOf(Array.from({ length: 6 }, () => infer()))).toContain("unavailable");
  expect(memory.heldBytes).toBe(0);
});

function sip(stream: ServerHttp2Stream): void {
  half(1000, 5)(stream);
  drip(stream);
}

test("a backend that sends a byte now and then is given up, with a text that names it", async () => {
  const { infer } = await startBackend(sip);
  await expect(infer()).rejects.toMatchObject(TOO_SLOW);
});

test("one that a hook calls is given up by the rule that its server has", async () => {
  const { address } = await startBackend(sip);
  const pool = new RemotePool({ overload: RULES });
  onTestFinished(() => pool.close());
  const call = { metadata: {}, signal: new AbortController().signal };
  await expect(
    pool.predict(address, { inputs: toTensors({ x: [1] }), model: "", signature: "", call }),
  ).rejects.toMatchObject(TOO_SLOW);
});

test("one that keeps its trailers back is given up likewise", async () => {
  const { infer } = await startBackend(half(0, 5));
  await expect(infer()).rejects.toMatchObject({ code: "deadline_exceeded" });
});

test("one that computes for longer than that is waited for", async () => {
  const { infer } = await startBackend((stream) => {
    begin(stream);
    setTimeout(() => stream.end(frame(Buffer.alloc(0))), 5 * RULES.spanMs);
  });
  await expect(infer()).resolves.toMatchObject({ outputs: { kind: "tensors" } });
});

test("the answers to calls of hooks have a budget too", async () => {
  const { infer } = await startBackend(half(9_000_000, 8_999_999));
  const leaving = Array.from({ length: 6 }, () => infer({ countsMemory: false }));
  const first = await Promise.race(leaving.map((each) => each.catch((reason: unknown) => reason)));
  expect(first).toMatchObject({ code: "unavailable" });
  for (const each of leaving) each.catch(() => {});
});

test("an answer in pieces of a byte counts what the pieces take", async () => {
  let held = 0;
  const { infer, memory } = await startBackend(async (stream) => {
    begin(stream);
    held = await sendInPieces(stream, frame(Buffer.alloc(2000)), { memory, bytes: 100 * 2000 });
    stream.end();
  });
  // Frames of a byte take a loaded machine longer than a slow backend has.
  memory.overload.configure({ ...RULES, spanMs: 60_000 });
  await expect(infer()).rejects.toMatchObject({ code: "internal" });
  expect(held).toBeGreaterThanOrEqual(100 * 2000);
  expect(memory.heldBytes).toBe(0);
});
