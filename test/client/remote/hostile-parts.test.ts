import type { ServerHttp2Stream } from "node:http2";
import { gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { RemotePool } from "../../../src/client/remote/remote-pool.ts";
import { PREFIX_BYTES } from "../../../src/grpc/framed-message.ts";
import { createDeferred } from "../../../src/platform/async/promises.ts";
import { MemoryBudget } from "../../../src/platform/limits/memory/memory-budget.ts";
import { frameStreamResponse } from "../../../src/protocols/kserve/grpc-response.ts";
import type { PartSink } from "../../../src/serving/inference-service.ts";
import { toTensors } from "../../../src/tensor/plain-value.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";
import { CollectedParts } from "../../helpers/collect-parts.ts";
import { postForParts } from "../../proxy/read-parts.ts";
import { serveHttp } from "../../proxy/serve-http.ts";
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

/** A part of so many numbers. */
function message(numbers: number, isFinal = false): Buffer {
  const tensor = createTensor("float32", [numbers], new Float32Array(numbers));
  const outputs = [{ name: "y", datatype: "FP32", shape: [numbers], tensor }];
  const answer = { model: "m", version: 1n, id: "1", outputs, metadata: {} };
  const framed = frameStreamResponse(answer, { encoding: "raw", tellsEnd: true }, { isFinal, borrows: false });
  return Buffer.concat(framed).subarray(PREFIX_BYTES);
}

const part = (numbers: number, isFinal?: boolean) => frame(message(numbers, isFinal));
/** Message of 6 MB. */
const LARGE = part(1_500_000);

/** Sends a part, then bytes of another one, and the rest of it never. */
function half(bytes: number) {
  return (stream: ServerHttp2Stream) => {
    begin(stream);
    stream.write(part(1));
    stream.write(LARGE.subarray(0, bytes));
  };
}

/** Takes parts, and counts them. */
class Taken implements PartSink {
  count = 0;
  async write(): Promise<void> {
    this.count++;
  }
}

test.each([3, 5, 100])("a backend that drips within a part, after %d bytes of it, is given up", async (bytes) => {
  const { infer } = await startBackend((stream) => {
    half(bytes)(stream);
    drip(stream);
  });
  const parts = new Taken();
  await expect(infer({ parts })).rejects.toMatchObject(TOO_SLOW);
  expect(parts.count).toBe(1);
});

test("one that begins its first part with its headers, and no more, is given up", async () => {
  const { infer } = await startBackend((stream) => {
    begin(stream);
    stream.write(LARGE.subarray(0, 100));
  });
  await expect(infer({ parts: new Taken() })).rejects.toMatchObject(TOO_SLOW);
});

test("one that computes between parts for longer is waited for", async () => {
  const { infer } = await startBackend((stream) => {
    begin(stream);
    stream.write(part(1));
    setTimeout(() => stream.end(part(1, true)), 5 * RULES.spanMs);
  });
  const parts = new Taken();
  await expect(infer({ parts })).resolves.toMatchObject({ parts: 2 });
  expect(parts.count).toBe(2);
});

test("a part is counted as it comes, and what it held is released when its call ends", async () => {
  const { infer, memory } = await startBackend(half(5_000_000));
  const failed = infer({ parts: new Taken() });
  failed.catch(() => {});
  await expect.poll(() => memory.heldBytes).toBeGreaterThanOrEqual(5_000_000);
  await expect(failed).rejects.toMatchObject({ code: "deadline_exceeded" });
  expect(memory.heldBytes).toBe(0);
});

test("a part that is passed on is counted once, and no more when its call has ended", async () => {
  const { infer, memory } = await startBackend((stream) => {
    begin(stream);
    stream.write(part(1000));
    stream.end(part(1, true));
  });
  const share = memory.open(0, "a");
  const beyond: number[] = [];
  const write = async () => void beyond.push(share.beyondPart(4000));
  await infer({ parts: { write }, share });
  expect([beyond[0], share.beyondPart(4000)]).toEqual([0, 4000]);
  expect(beyond[1]).toBeGreaterThan(3800);
});

test("parts for which there is no room are refused while they come", async () => {
  const { infer, memory } = await startBackend(half(5_900_000));
  expect(await codesOf([1, 2].map(() => infer({ parts: new Taken() })))).toContain("unavailable");
  expect(memory.heldBytes).toBe(0);
});

test("parts that gzip makes small are inflated within the memory of requests", async () => {
  const bomb = frame(gzipSync(message((MAX_BYTES - 1000) / 4)), true);
  const { infer, memory } = await startBackend((stream) => {
    begin(stream, { "grpc-encoding": "gzip" });
    stream.end(bomb);
  });
  const one = infer({ parts: new Taken() });
  expect(await mostHeld(memory, one)).toBeGreaterThan(MAX_BYTES / 2);
  const answers = codesOf(Array.from({ length: 8 }, () => infer({ parts: new Taken() })));
  expect(await mostHeld(memory, answers)).toBeLessThanOrEqual(2 * MAX_BYTES);
  expect(await answers).toContain("unavailable");
  expect(memory.heldBytes).toBe(0);
});

test("what comes while a part is not taken counts too", async () => {
  const { infer, memory } = await startBackend((stream) => {
    begin(stream);
    for (let sent = 0; sent < MAX_BYTES / 2; sent += 100_000) stream.write(part(25_000));
    stream.end(part(1, true));
  });
  const taken = createDeferred<void>();
  const answer = infer({ parts: { write: () => taken.promise } });
  await expect.poll(() => memory.heldBytes).toBeGreaterThan(MAX_BYTES / 20);
  taken.resolve();
  await expect(answer).resolves.toMatchObject({ parts: expect.any(Number) });
  expect(memory.heldBytes).toBe(0);
});

test("a part that is taken slowly is its reader's matter, not its backend's", async () => {
  const { infer } = await startBackend((stream) => {
    begin(stream);
    for (let count = 0; count < 3; count++) stream.write(LARGE);
    stream.end(part(1, true));
  });
  const write = () => new Promise<void>((resolve) => setTimeout(resolve, 3 * RULES.spanMs));
  await expect(infer({ parts: { write } })).resolves.toMatchObject({ parts: 4 });
});

test("large parts, one after the other, need the room of one", async () => {
  const { infer } = await startBackend((stream) => {
    begin(stream);
    for (let count = 0; count < 5; count++) stream.write(LARGE);
    stream.end(part(1, true));
  });
  const parts = new Taken();
  await expect(infer({ parts })).resolves.toMatchObject({ parts: 6 });
});

test("a part in pieces of a byte counts what the pieces take", async () => {
  let held = 0;
  const { infer, memory } = await startBackend(async (stream) => {
    begin(stream);
    held = await sendInPieces(stream, part(500), { memory, bytes: 100 * 2000 });
    stream.end(part(1, true));
  });
  // Frames of a byte take a loaded machine longer than a slow backend has.
  memory.overload.configure({ ...RULES, spanMs: 60_000 });
  await infer({ parts: new Taken() });
  expect(held).toBeGreaterThanOrEqual(100 * 2000);
  expect(memory.heldBytes).toBe(0);
});

test("parts of nothing that come at once count what they take", async () => {
  const { infer, memory } = await startBackend((stream) => {
    begin(stream);
    stream.write(Buffer.concat(Array.from({ length: 3000 }, () => frame(Buffer.alloc(0)))));
    stream.end(part(1, true));
  });
  const taken = createDeferred<void>();
  const answer = infer({ parts: { write: () => taken.promise } });
  await expect.poll(() => memory.heldBytes).toBeGreaterThan(100 * 3000);
  taken.resolve();
  await expect(answer).resolves.toMatchObject({ parts: 3001 });
  expect(memory.heldBytes).toBe(0);
});

test("what is sent counts until the first part is there", async () => {
  const asked = createDeferred<ServerHttp2Stream>();
  const { infer, memory } = await startBackend((stream) => {
    stream.resume();
    begin(stream);
    asked.resolve(stream);
  });
  const answer = infer({ parts: new Taken(), numbers: 500_000 });
  const stream = await asked.promise;
  expect(memory.heldBytes).toBeGreaterThanOrEqual(2 * 2_000_000);
  stream.end(part(1, true));
  await expect(answer).resolves.toMatchObject({ model: "m" });
  expect(memory.heldBytes).toBe(0);
});

test("streams of hooks are given up by their server's rule, and have a budget", async () => {
  const { address } = await startBackend((stream) => {
    half(5)(stream);
    drip(stream);
  });
  const pool = new RemotePool({ overload: RULES });
  onTestFinished(() => pool.close());
  const call = { metadata: {}, signal: new AbortController().signal };
  const asked = { inputs: toTensors({ x: [1] }), model: "", signature: "", call };
  const read = async () => {
    for await (const _ of pool.stream(address, asked));
  };
  await expect(read()).rejects.toMatchObject(TOO_SLOW);
  const other = await startBackend(half(5_900_000));
  const leaving = Array.from({ length: 6 }, () => other.infer({ countsMemory: false, parts: new CollectedParts() }));
  const first = await Promise.race(leaving.map((each) => each.catch((reason: unknown) => reason)));
  expect(first).toMatchObject({ code: "unavailable" });
  for (const each of leaving) each.catch(() => {});
});

test("a client of a proxy reads the parts until then, and why there are no more", async () => {
  const { remote } = await startBackend((stream) => {
    half(100)(stream);
    drip(stream);
  });
  const memory = new MemoryBudget(MAX_BYTES);
  memory.overload.configure(RULES);
  const { url } = await serveHttp(remote, { memory });
  const inputs = [{ name: "x", datatype: "FP32", shape: [1], data: [1] }];
  const reader = await postForParts(`${url}/v2/models/m/infer_stream`, { inputs });
  const [first, last, ...others] = await reader.rest();
  expect([first, last, others]).toEqual([
    expect.stringContaining('"name":"y"'),
    expect.stringContaining("The server behind this one sends less than 10000 bytes per second"),
    [],
  ]);
  await expect.poll(() => memory.heldBytes).toBe(0);
});
