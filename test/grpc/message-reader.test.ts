import { describe, expect, it } from "vitest";
import { MessageReader } from "../../src/grpc/message-reader.ts";
import { MemoryBudget } from "../../src/platform/limits/memory/memory-budget.ts";
import { MemoryPool } from "../../src/platform/limits/memory/memory-pool.ts";
import { bytesField, encodeMessage, integerField, messageField } from "../../src/tensor/codecs/protobuf/wire-writer.ts";

const MESSAGE = Buffer.from(Array.from({ length: 300 }, (_, index) => index % 251));

function prefixed(message: Buffer, { compressed = 0, claim = message.length } = {}): Buffer {
  const prefix = Buffer.of(compressed, 0, 0, 0, 0);
  prefix.writeUInt32BE(claim, 1);
  return Buffer.concat([prefix, message]);
}

function open(maxBytes = 1000, pool = new MemoryPool()) {
  return new MessageReader({ maxBytes, memory: new MemoryBudget(2 * maxBytes).open(), pool, nesting: [2] });
}

function addInPieces(reader: MessageReader, bytes: Buffer, size: number): void {
  for (let at = 0; at < bytes.length; at += size) reader.add(bytes.subarray(at, at + size));
}

describe("a message", () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 299, 305])("comes out of pieces of %i bytes", (size) => {
    const reader = open();
    addInPieces(reader, prefixed(MESSAGE), size);
    expect(Buffer.from(reader.finish())).toEqual(MESSAGE);
  });

  it("comes out whole where it is larger than its first places", () => {
    const large = Buffer.alloc(70_000_000, MESSAGE);
    const reader = open(large.length);
    addInPieces(reader, prefixed(large), 60_000);
    expect(Buffer.compare(reader.finish(), large)).toBe(0);
  });

  it("may be empty", () => {
    const reader = open();
    addInPieces(reader, prefixed(Buffer.alloc(0)), 2);
    expect(reader.finish()).toHaveLength(0);
  });

  it("keeps its bytes when the place where they arrived is used again", () => {
    const reader = open();
    const place = prefixed(MESSAGE);
    reader.add(place);
    place.fill(0);
    expect(Buffer.from(reader.finish())).toEqual(MESSAGE);
  });

  it.each([
    ["is larger than the limit", prefixed(Buffer.alloc(0), { claim: 1001 }), "resource_exhausted", "(1001 vs 1000)"],
    ["says that it is compressed", prefixed(MESSAGE, { compressed: 1 }), "unimplemented", "compressed"],
    ["is followed by another", Buffer.concat([prefixed(MESSAGE), Buffer.of(0)]), "unimplemented", "second"],
  ])("that %s is refused as soon as that is known", (_, bytes, code, text) => {
    expect(() => addInPieces(open(), bytes, 1)).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(text) }),
    );
  });

  it.each([0, 4, 5, 304])("of which %i bytes came is refused at its end", (length) => {
    const reader = open();
    addInPieces(reader, prefixed(MESSAGE).subarray(0, length), 100);
    expect(() => reader.finish()).toThrow(/no whole request message/);
  });
});

it("counts what it holds, and refuses what the memory has no room for", () => {
  const budget = new MemoryBudget(400);
  const others = budget.open();
  others.grow(200);
  const memory = budget.open();
  const reader = new MessageReader({ maxBytes: 1000, memory, pool: new MemoryPool() });
  reader.add(prefixed(MESSAGE).subarray(0, 200));
  expect(() => reader.add(prefixed(MESSAGE).subarray(200))).toThrow(/hold 400 bytes/);
  memory.release();
  expect(() => others.grow(200)).not.toThrow();
});

it("passes over what still comes once it was dropped", () => {
  const reader = open();
  const bytes = prefixed(MESSAGE);
  reader.add(bytes.subarray(0, 200));
  reader.drop();
  reader.add(Buffer.concat([bytes, bytes]));
  expect(() => reader.finish()).toThrow(/no whole request message/);
});

it("gives the memory of a dropped message back at once, but not that of one which others read", () => {
  const bytes = prefixed(Buffer.alloc(2 ** 20, 7));
  const cut = open(2 ** 21);
  cut.add(bytes.subarray(0, -1));
  const { buffer } = cut;
  expect(buffer.byteLength).toBeGreaterThan(2 ** 20);
  cut.drop();
  expect(buffer.byteLength).toBe(0);
  const given = open(2 ** 21);
  given.add(bytes);
  const message = given.finish();
  given.drop();
  expect(message).toHaveLength(2 ** 20);
});

describe("a large value", () => {
  const MEGABYTES = 3 * 1024 * 1024;

  /** One field in front, as long as asked for, then the value, nested. */
  function message(leadBytes: number, valueBytes: number): Buffer {
    const value = Buffer.alloc(valueBytes, 0xee);
    const parts = [bytesField(1, Buffer.alloc(leadBytes)), messageField(2, [integerField(1, 1), bytesField(4, value)])];
    return encodeMessage([...parts, integerField(9, 1)]);
  }

  it.each([0, 1, 2, 3, 4, 5, 6, 7])("behind %i bytes lies where numbers can be viewed", (leadBytes) => {
    for (const valueBytes of [100_000, MEGABYTES]) {
      const reader = open(2 * MEGABYTES);
      const sent = message(leadBytes, valueBytes);
      addInPieces(reader, prefixed(sent), 16_384);
      const bytes = reader.finish();
      expect(sent.compare(bytes)).toBe(0);
      expect((bytes.byteOffset + bytes.indexOf(0xee)) % 8).toBe(0);
    }
  });

  it("of which the place is not known when memory is made comes whole all the same", () => {
    const reader = open(2 * MEGABYTES);
    const sent = message(3, 100_000);
    addInPieces(reader, prefixed(sent), 7);
    expect(sent.compare(reader.finish())).toBe(0);
  });

  it("that is only claimed takes no more than a megabyte of room", () => {
    const reader = open(2 ** 31);
    reader.add(prefixed(Buffer.alloc(1000), { claim: 2 ** 31 }));
    expect(reader.buffer.byteLength).toBeLessThanOrEqual(2 ** 20 + 8);
  });

  it("comes into the memory of an earlier one, where that was given back", () => {
    const pool = new MemoryPool();
    const [first, second, third] = [1, 2, 3].map(() => open(2 * MEGABYTES, pool)) as [
      MessageReader,
      MessageReader,
      MessageReader,
    ];
    first.add(prefixed(message(2, 100_000)));
    const memory = first.finish().buffer;
    second.add(prefixed(message(2, 100_000)));
    expect(second.finish().buffer).not.toBe(memory);
    first.recycle();
    const sent = message(3, 99_999);
    third.add(prefixed(sent));
    expect(third.finish().buffer).toBe(memory);
    expect(sent.compare(third.finish())).toBe(0);
  });
});

it.each([
  // A megabyte, and one of its size.
  [16_384, 2, "is copied once, when a megabyte of it has come in whole frames"],
  // Before them a small one.
  [1_000, 3, "is copied twice while it grows"],
])("in pieces of %i bytes uses %i buffers: it %s, however large it is", (pieceBytes, count) => {
  const bytes = 20_000_000;
  const reader = open(bytes);
  const buffers = new Set<ArrayBufferLike>();
  const whole = prefixed(Buffer.alloc(bytes));
  for (let at = 0; at < whole.length; at += pieceBytes) {
    reader.add(whole.subarray(at, at + pieceBytes));
    buffers.add(reader.buffer);
  }
  expect(buffers.size).toBe(count);
});
