import { invalidArgument, type ServingError } from "../../../errors.ts";
import type { TensorData } from "../../dtype.ts";

/** Integers of at most 32 bits. */
export type NarrowIntegers = TensorData<"uint8" | "uint16" | "uint32" | "int8" | "int16" | "int32">;
/** Integers of 64 bits. */
export type WideIntegers = TensorData<"uint64" | "int64">;

/** Told of a value, as an int32, that a target of 8 or 16 bits does not hold; its place has been filled. */
type OnCut = (index: number, value: number) => void;

/**
 * Decodes packed varints until the block or the target is full, and returns how many there were.
 * Each value is cut to the target's width, as a C cast would.
 */
export function readNarrowVarints(block: Uint8Array, target: NarrowIntegers, onCut?: OnCut): number {
  assertWholeVarints(block);
  let position = 0;
  let index = 0;
  while (position < block.length && index < target.length) {
    let byte = block[position++]!;
    let value = byte & 0x7f;
    for (let shift = 7; byte >= 0x80; shift += 7) {
      if (shift >= 70) throw overlong();
      byte = block[position++]!;
      if (shift < 32) value |= (byte & 0x7f) << shift;
    }
    target[index] = value;
    if (onCut !== undefined && target[index] !== value) onCut(index, value);
    index++;
  }
  return index;
}

/** Like {@link readNarrowVarints}, exact for 64 bits. */
export function readWideVarints(block: Uint8Array, target: WideIntegers): number {
  assertWholeVarints(block);
  const words = wordsOf(target);
  let position = 0;
  let index = 0;
  while (position < block.length && index < words.length) {
    let byte = block[position++]!;
    let low = byte & 0x7f;
    let high = 0;
    for (let shift = 7; byte >= 0x80; shift += 7) {
      if (shift >= 70) throw overlong();
      byte = block[position++]!;
      const bits = byte & 0x7f;
      if (shift < 32) low |= bits << shift;
      if (shift >= 32) high |= bits << (shift - 32);
      else if (shift > 25) high |= bits >>> (32 - shift);
    }
    words[index++] = low;
    words[index++] = high;
  }
  return index / 2;
}

/** Bytes that the values take as varints; negative ones take 10, as protobuf's int32 does. */
export function narrowVarintsSize(values: NarrowIntegers): number {
  let size = 0;
  for (let index = 0; index < values.length; index++) size += varintSize(values[index]!);
  return size;
}

/** Like {@link narrowVarintsSize} for 64 bits. */
export function wideVarintsSize(values: WideIntegers): number {
  const words = wordsOf(values);
  let size = 0;
  for (let index = 0; index < words.length; index += 2) {
    size += wideVarintSize(words[index]!, words[index + 1]!);
  }
  return size;
}

/** Writes the values as varints from `position` on and returns where they end. */
export function writeNarrowVarints(values: NarrowIntegers, target: Uint8Array, position: number): number {
  let at = position;
  for (let index = 0; index < values.length; index++) {
    const value = values[index]!;
    at = writeVarint(value, value < 0 ? 0xffffffff : 0, target, at);
  }
  return at;
}

/** Like {@link writeNarrowVarints} for 64 bits. */
export function writeWideVarints(values: WideIntegers, target: Uint8Array, position: number): number {
  const words = wordsOf(values);
  let at = position;
  for (let index = 0; index < words.length; index += 2) {
    at = writeVarint(words[index]!, words[index + 1]!, target, at);
  }
  return at;
}

/** Bytes of one 32-bit integer as a varint. */
export function varintSize(value: number): number {
  if (value < 0) return 10;
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  if (value < 0x200000) return 3;
  return value < 0x10000000 ? 4 : 5;
}

/** Number of bytes of a 64-bit integer, given as two unsigned words, as a varint. */
export function wideVarintSize(low: number, high: number): number {
  return high === 0 ? varintSize(low) : Math.ceil((64 - Math.clz32(high)) / 7);
}

/** Writes a 64-bit varint, given as two words, and returns its end. */
export function writeVarint(low: number, high: number, target: Uint8Array, position: number): number {
  let at = position;
  let rest = low >>> 0;
  let restHigh = high >>> 0;
  while (restHigh !== 0) {
    target[at++] = (rest & 0x7f) | 0x80;
    rest = ((rest >>> 7) | (restHigh << 25)) >>> 0;
    restHigh >>>= 7;
  }
  while (rest >= 0x80) {
    target[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  target[at++] = rest;
  return at;
}

/**
 * Refuses a block that ends inside a varint. In other blocks no varint exceeds the end, so decoding need not check it.
 */
export function assertWholeVarints(block: Uint8Array): void {
  if (block.length > 0 && block[block.length - 1]! >= 0x80) {
    throw invalidArgument("Malformed packed field: it ends inside a varint.");
  }
}

function overlong(): ServingError {
  return invalidArgument("Malformed packed field: a varint is longer than 10 bytes.");
}

function wordsOf(values: WideIntegers): Uint32Array {
  return new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
}
