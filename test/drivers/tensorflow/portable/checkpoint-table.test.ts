import { describe, expect, it } from "vitest";
import { readTable } from "../../../../src/drivers/tensorflow/portable/checkpoint-table.ts";
import { maskedCrc32c } from "../../../../src/tensor/codecs/crc32c.ts";

type Entry = readonly [key: string, value: Uint8Array];

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))];
}

/** Keys that share nothing, unless `shared` says how much of the one before. */
function entry([key, value]: Entry, shared = 0): Buffer {
  const lengths = [shared, key.length, value.length].flatMap(varint);
  return Buffer.concat([Buffer.from(lengths), Buffer.from(key, "latin1"), value]);
}

/** Without places to start from, uncompressed. */
function block(...entries: readonly Buffer[]): Buffer {
  const content = Buffer.concat([...entries, Buffer.alloc(4), Buffer.of(0)]);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32LE(maskedCrc32c(content));
  return Buffer.concat([content, checksum]);
}

function handle(offset: number, bytes: Buffer): Buffer {
  return Buffer.from([...varint(offset), ...varint(bytes.length - 5)]);
}

/** A table with one block of entries, to which its index refers so often. */
function table(content: Buffer, references = 1): Buffer {
  const place = handle(0, content);
  const index = block(...Array.from({ length: references }, (_, number) => entry([String(number), place])));
  const footer = Buffer.alloc(48);
  Buffer.concat([Buffer.of(0, 0), handle(content.length, index)]).copy(footer);
  footer.writeBigUInt64LE(0xdb4775248b80fb57n, 40);
  return Buffer.concat([content, index, footer]);
}

describe("readTable", () => {
  it("reads keys that share their beginnings", () => {
    const entries = [entry(["layer/a", Buffer.of(1)]), entry(["b", Buffer.of(2)], 6)];
    const read = readTable(table(block(...entries)));
    expect([...read].map(([key, value]) => [key, ...value])).toEqual([
      ["layer/a", 1],
      ["layer/b", 2],
    ]);
  });

  it("refuses an index that refers to a block again and again", () => {
    const bytes = table(block(entry(["a", Buffer.alloc(500_000)])), 100_000);
    expect(() => readTable(bytes)).toThrow("its blocks refer to each other too often");
  });

  it("refuses keys that are longer together than any index is", () => {
    const repeated = Array.from({ length: 300 }, () => entry(["", Buffer.alloc(0)], 1e6));
    const bytes = table(block(entry(["k".repeat(1e6), Buffer.alloc(0)]), ...repeated));
    expect(() => readTable(bytes)).toThrow("its keys are too long");
  });

  it("refuses more entries than any index has, which would take many times their bytes", () => {
    const bytes = table(block(Buffer.alloc(3 * 1_000_001)));
    expect(() => readTable(bytes)).toThrow("it has more than 1000000 entries");
  });

  it("refuses a number without end, and a block that is shorter than its own list", () => {
    const endless = Buffer.from([...Array(7).fill(0x80), 1]);
    expect(() => readTable(table(block(Buffer.concat([endless, Buffer.of(0, 0)]))))).toThrow("is too large");
    const listing = Buffer.from(table(block(entry(["a", Buffer.of(1)]))));
    listing.writeUInt32LE(50, 5);
    listing.writeUInt32LE(maskedCrc32c(listing.subarray(0, 10)), 10);
    expect(() => readTable(listing)).toThrow("fewer bytes than it says");
  });
});
