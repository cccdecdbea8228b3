import { varintSize, wideVarintSize, writeVarint } from "./packed-varints.ts";
import { WIRE } from "./wire-reader.ts";

/** A piece of a message that knows its exact size and how to write itself; returns where it ended. */
export interface WirePart {
  readonly size: number;
  write(target: Buffer, position: number): number;
}

/** Writes a message into one buffer of exactly its size. */
export function encodeMessage(parts: readonly WirePart[]): Buffer {
  const target = Buffer.allocUnsafe(sizeOf(parts));
  const end = writeAll(parts, target, 0);
  if (end !== target.length) throw new RangeError(`A message of ${target.length} bytes was written as ${end}.`);
  return target;
}

/** A nested message; present even if it has no parts. */
export function messageField(field: number, parts: readonly WirePart[]): WirePart {
  const size = sizeOf(parts);
  return delimited(field, size, (target, position) => writeAll(parts, target, position));
}

/** Text; nothing if empty, which proto3 readers take for the same. */
export function textField(field: number, text: string): WirePart {
  return text === "" ? NOTHING : textElement(field, text);
}

/** Text, also if empty: an element of a repeated field, or a map's key. */
export function textElement(field: number, text: string): WirePart {
  return delimited(field, Buffer.byteLength(text), (target, position) => position + target.write(text, position));
}

/** Bytes, also if empty. */
export function bytesField(field: number, bytes: Uint8Array): WirePart {
  return delimited(field, bytes.length, (target, position) => {
    target.set(bytes, position);
    return position + bytes.length;
  });
}

/** An integer of up to 64 bits; nothing if 0, which proto3 readers take for the same. */
export function integerField(field: number, value: number | bigint): WirePart {
  const [low, high] = typeof value === "number" ? wordsOfNumber(value) : wordsOfBigInt(value);
  if (low === 0 && high === 0) return NOTHING;
  const tag = (field << 3) | WIRE.varint;
  return {
    size: varintSize(tag) + wideVarintSize(low, high),
    write: (target, position) => writeVarint(low, high, target, writeVarint(tag, 0, target, position)),
  };
}

/** Of a safe integer, in two's complement. */
function wordsOfNumber(value: number): [low: number, high: number] {
  return [value >>> 0, Math.floor(value / 2 ** 32) >>> 0];
}

function wordsOfBigInt(value: bigint): [low: number, high: number] {
  return [Number(BigInt.asUintN(32, value)), Number(BigInt.asUintN(32, value >> 32n))];
}

/** A length-delimited field whose content of `size` bytes `writeContent` writes. */
export function delimited(field: number, size: number, writeContent: WirePart["write"]): WirePart {
  const tag = (field << 3) | WIRE.bytes;
  return {
    size: varintSize(tag) + varintSize(size) + size,
    write(target, position) {
      const content = writeVarint(size, 0, target, writeVarint(tag, 0, target, position));
      return writeContent(target, content);
    },
  };
}

const NOTHING: WirePart = { size: 0, write: (_target, position) => position };

function sizeOf(parts: readonly WirePart[]): number {
  return parts.reduce((sum, part) => sum + part.size, 0);
}

function writeAll(parts: readonly WirePart[], target: Buffer, position: number): number {
  return parts.reduce((at, part) => part.write(target, at), position);
}
