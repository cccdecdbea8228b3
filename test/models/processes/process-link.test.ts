import { once } from "node:events";
import { createConnection, createServer, type Socket } from "node:net";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { LinkPort } from "../../../src/models/processes/link-port.ts";
import { IN_STREAM, LinkReader, ProcessLink } from "../../../src/models/processes/process-link.ts";
import { RingReader } from "../../../src/models/processes/ring-reader.ts";
import { RingWriter } from "../../../src/models/processes/ring-writer.ts";
import { createSharedFiles, inheritSharedFiles } from "../../../src/models/processes/shared-files.ts";
import { borrowMemory, returnMemory } from "../../../src/platform/limits/memory/memory-pool.ts";
import type { Frame } from "../../../src/platform/threads/frame.ts";
import { MalformedMessage } from "../../../src/platform/threads/host-port.ts";

async function socketPair(): Promise<readonly [Socket, Socket]> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { readonly port: number };
  const accepted = once(server, "connection");
  const near = createConnection(port, "127.0.0.1");
  const [far] = (await accepted) as [Socket];
  onTestFinished(() => {
    near.destroy();
    far.destroy();
    server.close();
  });
  return [near, far];
}

/** Two ends of a link, with memory files of so many bytes; the second one's messages are kept. */
async function startLinks(ringBytes?: number) {
  const [near, far] = await socketPair();
  const files = ringBytes === undefined ? undefined : await createSharedFiles(ringBytes);
  const farFiles = files && (await inheritSharedFiles(files.fds, ringBytes));
  onTestFinished(() => {
    files?.close();
    farFiles?.in.close();
    farFiles?.out.close();
  });
  const common = { maxBytes: 1 << 24, onMalformed: (reason: unknown) => expect.unreachable(String(reason)) };
  const received: number[][] = [];
  const parts: ArrayBuffer[] = [];
  let tell = () => {};
  let answers = 0;
  const onAnswer = () => {
    answers++;
    tell();
  };
  const sender = new ProcessLink({
    ...{ ...common, stream: near, onMessage: onAnswer },
    ...(files && { out: new RingWriter(files.out), in: new RingReader(files.in) }),
  });
  const receiver = new ProcessLink({
    ...{ ...common, stream: far },
    onMessage: (_, message) => {
      const own = message instanceof ArrayBuffer ? [message] : message;
      received.push(own.flatMap((part) => [part.byteLength, new Uint8Array(part).at(-1) ?? 0]));
      parts.push(...own);
      receiver.post(1, new ArrayBuffer(8));
    },
    ...(farFiles && { out: new RingWriter(farFiles.out), in: new RingReader(farFiles.in) }),
  });
  const until = async (count: number) => {
    while (answers < count)
      await new Promise<void>((resolve) => {
        tell = resolve;
      });
  };
  return { sender, received, parts, until, bytesOnSocket: () => near.bytesWritten };
}

/** A frame and a large content, with a number at their ends. */
const message = (number: number, bytes: number): Frame => [filled(8, number), filled(bytes, number)];
const filled = (bytes: number, number: number) => new Uint8Array(bytes).fill(number).buffer;

test.each([
  ["without memory files", undefined],
  ["with memory files too small for it", 1024],
  ["with memory files that hold one of them", 150_000],
  ["with memory files that hold all of them", 1 << 24],
])("large contents arrive in their order, %s", async (_, ringBytes) => {
  const { sender, received, until } = await startLinks(ringBytes);
  const sizes = [100_000, 40_000, 140_000, 33_000, 100_000, 64, 99_999, 120_001];
  for (const [index, size] of sizes.entries()) sender.post(1, message(index + 1, size));
  await until(sizes.length);
  expect(received).toEqual(sizes.map((size, index) => [8, index + 1, size, index + 1]));
});

test("what was read leaves its room in the memory file to others", async () => {
  const { sender, until, bytesOnSocket } = await startLinks(1 << 20);
  for (let count = 1; count <= 40; count++) {
    sender.post(1, message(count, 200_000));
    if (count % 4 === 0) await until(count);
  }
  // Five of them would fill it, and all of them are 8 MB.
  expect(bytesOnSocket()).toBeLessThan(1 << 20);
});

test("contents come in memory that may be used again, but frames, which may hold several requests, do not", async () => {
  const { sender, parts, until } = await startLinks(1 << 20);
  sender.post(1, [filled(100_000, 1), filled(100_000, 2)]);
  await until(1);
  for (const part of parts) returnMemory(part);
  expect(parts.map(({ byteLength }) => byteLength)).toEqual([100_000, 0]);
});

test("memory that came from the other side is free again once it was given away in an answer", async () => {
  const { sender, received, until } = await startLinks(1 << 20);
  const port = new LinkPort(1, sender);
  const [lent, own, kept] = [borrowMemory(100_000), new ArrayBuffer(100_000), borrowMemory(100_000)];
  new Uint8Array(lent).fill(6);
  port.post([filled(8, 5), lent, own, kept], [lent, own]);
  expect([lent, own, kept].map(({ byteLength }) => byteLength)).toEqual([0, 100_000, 100_000]);
  await until(1);
  expect(received).toEqual([[8, 5, 100_000, 6, 100_000, 0, 100_000, expect.any(Number)]]);
});

test("tells of a port's end also where that was before it was asked for", () => {
  const port = new LinkPort(1, { post: () => {} } as never);
  port.close();
  let isClosed = false;
  port.onClose(() => {
    isClosed = true;
  });
  expect(isClosed).toBe(true);
});

/** A message as bytes: its port, its parts as sizes and places, and what follows. */
function bytesOf(port: number, parts: readonly (readonly [size: number, place: number])[], ...rest: Uint8Array[]) {
  const integers = Uint32Array.of(port, parts.length, 0, ...parts.flat());
  return Buffer.concat([new Uint8Array(integers.buffer), ...rest]);
}

interface Read {
  readonly port: number;
  /** Sizes of its parts. */
  readonly sizes: readonly number[];
}

function reader({ ring }: { readonly ring?: RingReader } = {}) {
  const messages: Read[] = [];
  const onMessage = (port: number, message: Frame | undefined) => {
    const parts = message === undefined ? [] : message instanceof ArrayBuffer ? [message] : message;
    messages.push({ port, sizes: parts.map(({ byteLength }) => byteLength) });
  };
  return { messages, reader: new LinkReader({ ring, maxBytes: 1000, onMessage }) };
}

const content = (size: number) => new Uint8Array(size);

test("messages are read whatever pieces they arrive in", () => {
  const stream = Buffer.concat([
    bytesOf(1, [[8, IN_STREAM]], content(8)),
    bytesOf(2, []),
    bytesOf(
      3,
      [
        [8, IN_STREAM],
        [0, IN_STREAM],
        [900, IN_STREAM],
      ],
      content(908),
    ),
  ]);
  for (const size of [1, 7, 13, 64, stream.length]) {
    const { messages, reader: own } = reader();
    for (let at = 0; at < stream.length; at += size) own.push(stream.subarray(at, at + size));
    expect(messages).toEqual([
      { port: 1, sizes: [8] },
      { port: 2, sizes: [] },
      { port: 3, sizes: [8, 0, 900] },
    ]);
  }
});

describe("a message that no link writes is malformed before memory is spent on it:", async () => {
  test.each([
    ["2^32 - 1 parts", Uint32Array.of(1, 2 ** 32 - 1, 0)],
    ["more bytes than are allowed", Uint32Array.of(1, 1, 0, 1001, IN_STREAM)],
    ["more bytes in two parts", Uint32Array.of(1, 2, 0, 600, IN_STREAM, 600, IN_STREAM)],
    ["4 GB", Uint32Array.of(1, 1, 0, 2 ** 32 - 1, IN_STREAM)],
    ["a memory file that is not there", Uint32Array.of(1, 1, 0, 8, 0)],
    ["nothing of a memory file that is not there", Uint32Array.of(1, 1, 0, 0, 0)],
  ])("%s", (_, integers) => {
    const { messages, reader: own } = reader();
    expect(() => own.push(Buffer.from(integers.buffer))).toThrow(MalformedMessage);
    expect(messages).toEqual([]);
  });

  const files = await createSharedFiles(4096);
  afterAll(() => files?.close());
  test.runIf(files !== undefined).each([
    ["a place beyond the memory file", [[8, 4096]]],
    ["an end beyond it", [[16, 4090]]],
    [
      "more than all of it, in parts",
      [
        [3000, 0],
        [3000, 0],
      ],
    ],
  ] as const)("%s", (_, parts) => {
    const ring = new RingReader(files!.in);
    expect(() => reader({ ring }).reader.push(bytesOf(1, parts))).toThrow(MalformedMessage);
  });

  test.runIf(files !== undefined)("content of a memory file that is closed", async () => {
    const closed = await createSharedFiles(4096);
    closed?.close();
    const ring = new RingReader(closed!.in);
    expect(() => reader({ ring }).reader.push(bytesOf(1, [[8, 0]]))).toThrow("its memory file is closed");
  });
});
