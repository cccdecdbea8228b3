import { afterAll, describe, expect, test } from "vitest";
import { IN_STREAM, LinkReader } from "../../../src/models/processes/link-reader.ts";
import { RingReader } from "../../../src/models/processes/ring-reader.ts";
import { createSharedFiles } from "../../../src/models/processes/shared-files.ts";
import type { Frame } from "../../../src/platform/threads/frame.ts";
import { MalformedMessage } from "../../../src/platform/threads/host-port.ts";

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
