import { describe, expect, it } from "vitest";
import {
  narrowVarintsSize,
  readNarrowVarints,
  readWideVarints,
  wideVarintsSize,
  writeNarrowVarints,
  writeWideVarints,
} from "../../../../src/tensor/codecs/protobuf/packed-varints.ts";

/** Every power of two up to `bits`, and its neighbours, with both signs. */
function edges(bits: number): bigint[] {
  const powers = Array.from({ length: bits }, (_, power) => 2n ** BigInt(power));
  return powers.flatMap((power) => [power - 1n, power, power + 1n, -power]);
}

describe("64-bit integers", () => {
  it("come back as they went, in exactly the size that was told", () => {
    const values = BigInt64Array.from(edges(63));
    const block = new Uint8Array(wideVarintsSize(values));
    expect(writeWideVarints(values, block, 0)).toBe(block.length);
    const back = new BigInt64Array(values.length);
    expect(readWideVarints(block, back)).toBe(values.length);
    expect(back).toEqual(values);
  });

  it("are read from and into views of larger buffers", () => {
    const target = new BigUint64Array(3).subarray(1);
    expect(readWideVarints(Uint8Array.of(1, 2), target)).toBe(2);
    expect(target).toEqual(BigUint64Array.of(1n, 2n));
  });
});

describe("32-bit integers", () => {
  it("come back as they went, in exactly the size that was told", () => {
    const values = Int32Array.from(edges(31).map(Number));
    const block = new Uint8Array(narrowVarintsSize(values));
    expect(writeNarrowVarints(values, block, 0)).toBe(block.length);
    const back = new Int32Array(values.length);
    expect(readNarrowVarints(block, back)).toBe(values.length);
    expect(back).toEqual(values);
  });

  it("take ten bytes where they are negative, as protobuf's int32 does", () => {
    expect(narrowVarintsSize(Int8Array.of(-1))).toBe(10);
  });
});

describe("reading", () => {
  it("stops at a full target, and returns the number of values in a short block", () => {
    expect(readNarrowVarints(Uint8Array.of(1, 2, 3), new Uint8Array(2))).toBe(2);
    expect(readNarrowVarints(Uint8Array.of(1), new Uint8Array(2))).toBe(1);
    expect(readWideVarints(Uint8Array.of(1, 2, 3), new BigInt64Array(2))).toBe(2);
  });

  it.each([
    ["narrow", (block: Uint8Array) => readNarrowVarints(block, new Int32Array(9))],
    ["wide", (block: Uint8Array) => readWideVarints(block, new BigInt64Array(9))],
  ])("refuses %s varints that are cut or too long", (_width, read) => {
    expect(() => read(Uint8Array.of(1, 0x80))).toThrow("it ends inside a varint");
    expect(() => read(Uint8Array.of(...new Array(10).fill(0x80), 0))).toThrow("longer than 10 bytes");
  });
});
