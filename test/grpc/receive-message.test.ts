import type { ServerHttp2Stream } from "node:http2";
import { describe, expect, it } from "vitest";
import { MessageReader } from "../../src/grpc/message-reader.ts";
import { receiveMessage } from "../../src/grpc/receive-message.ts";
import { CancelSource } from "../../src/platform/async/cancel-source.ts";
import { MemoryBudget } from "../../src/platform/limits/memory/memory-budget.ts";
import { MemoryPool } from "../../src/platform/limits/memory/memory-pool.ts";
import { openStream } from "./open-stream.ts";
import { Random } from "./random.ts";

const MESSAGE = Buffer.from(new Random(1).bytes(200_000));
const PREFIX = Buffer.of(0, 0, 3, 13, 64);

/** Hides where this Node lets a stream's bytes be put, as if it had no such place; returns what shows it again. */
function shadowPlace(stream: ServerHttp2Stream): () => void {
  const name = Object.getOwnPropertySymbols(stream).find(({ description }) => description === "kHandle") as symbol;
  const handle = (stream as unknown as Record<symbol, { useUserBuffer?: unknown }>)[name] as {
    useUserBuffer?: unknown;
  };
  handle.useUserBuffer = undefined;
  return () => delete handle.useUserBuffer;
}

function readerOf(maxBytes: number): MessageReader {
  return new MessageReader({ maxBytes, memory: new MemoryBudget(1e9).open(), pool: new MemoryPool() });
}

describe.each([true, false])("a stream that can be told where to put bytes (%s)", (hasPlace) => {
  async function open(maxBytes = 1_000_000) {
    const { stream, request } = await openStream();
    const reader = readerOf(maxBytes);
    const source = new CancelSource();
    const restore = hasPlace ? () => {} : shadowPlace(stream);
    const received = receiveMessage(stream, reader, source);
    restore();
    received.catch(() => {});
    return { request, received, source };
  }

  it("brings its message whole", async () => {
    const { request, received } = await open();
    request.write(Buffer.concat([PREFIX, MESSAGE.subarray(0, 70_000)]));
    request.end(MESSAGE.subarray(70_000));
    expect(MESSAGE.compare(await received)).toBe(0);
  });

  it("brings no message that is too large, and is read to its end all the same", async () => {
    const { request, received } = await open(100_000);
    request.end(Buffer.concat([PREFIX, MESSAGE]));
    await expect(received).rejects.toMatchObject({ code: "resource_exhausted" });
  });

  it("brings none once the call is over", async () => {
    const { request, received, source } = await open();
    request.write(Buffer.concat([PREFIX, MESSAGE.subarray(0, 100)]));
    source.abort("over");
    request.end(MESSAGE.subarray(100));
    await expect(received).rejects.toBe("over");
  });
});

describe("a stream of a call that waited for its turn", () => {
  it("brings the message that came meanwhile", async () => {
    const { stream, request } = await openStream();
    request.write(Buffer.concat([PREFIX, MESSAGE.subarray(0, 10_000)]));
    await expect.poll(() => stream.readableLength).toBe(10_005);
    const received = receiveMessage(stream, readerOf(1_000_000), new CancelSource());
    request.end(MESSAGE.subarray(10_000));
    expect(MESSAGE.compare(await received)).toBe(0);
  });

  it("brings none where it has ended without one", async () => {
    const { stream, request } = await openStream();
    request.end();
    await expect.poll(() => stream.readableEnded).toBe(true);
    const received = receiveMessage(stream, readerOf(1000), new CancelSource());
    await expect(received).rejects.toMatchObject({ code: "unimplemented" });
  });
});
