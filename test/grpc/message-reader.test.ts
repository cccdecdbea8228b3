import { describe, expect, it } from "vitest";
import { MessageReader } from "../../src/grpc/message-reader.ts";
import { MemoryBudget } from "../../src/serving/memory-budget.ts";

const MESSAGE = Buffer.from(Array.from({ length: 300 }, (_, index) => index % 251));

function prefixed(message: Buffer, { compressed = 0, claim = message.length } = {}): Buffer {
  const prefix = Buffer.of(compressed, 0, 0, 0, 0);
  prefix.writeUInt32BE(claim, 1);
  return Buffer.concat([prefix, message]);
}

function open(maxBytes = 1000) {
  return new MessageReader({ maxBytes, memory: new MemoryBudget(10_000).open() });
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

  it("may be empty", () => {
    const reader = open();
    addInPieces(reader, prefixed(Buffer.alloc(0)), 2);
    expect(reader.finish()).toHaveLength(0);
  });

  it("of one piece is not copied", () => {
    const reader = open();
    const bytes = prefixed(MESSAGE);
    reader.add(bytes);
    expect(reader.finish().buffer).toBe(bytes.buffer);
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
  const reader = new MessageReader({ maxBytes: 1000, memory });
  reader.add(prefixed(MESSAGE).subarray(0, 200));
  expect(() => reader.add(prefixed(MESSAGE).subarray(200))).toThrow(/hold 400 bytes/);
  memory.release();
  expect(() => others.grow(200)).not.toThrow();
});
