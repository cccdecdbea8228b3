import type { Random } from "../grpc/random.ts";
import { mutate } from "./mutate.ts";

/** Bytes that a change may take from elsewhere. */
export interface Materials {
  /** Other inputs of the same decoder; one at least. */
  readonly others: readonly Buffer[];
  /** Values that the decoder compares with, as bytes; one at least. */
  readonly words: readonly Buffer[];
  readonly maxBytes: number;
}

type Change = (bytes: Buffer, random: Random, materials: Materials) => Buffer;

/** Changes at once, by the power of two: mostly few, as each may undo what has led so far. */
const CHANGES_LOG2 = [0, 0, 0, 1, 1, 2, 3, 4];
/** Values at which widths, signs and limits end. */
const EDGES = [
  ...[0n, 1n, 2n, 16n, 127n, 128n, 255n, 256n, 512n, 1023n, 4096n, 32_767n, 32_768n, 65_535n, 65_536n, 1_000_000n],
  ...[2n ** 31n - 1n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 63n - 1n, 2n ** 63n],
  ...[2n ** 64n - 1n, 2n ** 64n - 2n],
];
const DIGITS = /\d+/g;

const CHANGES: readonly Change[] = [
  (bytes, random) => mutate(bytes, random),
  flipBit,
  setByte,
  setInteger,
  setVarint,
  setDigits,
  addLittle,
  removePart,
  repeatPart,
  ...[addWord, addWord, setWord, joinOther],
];

/** One to sixteen changes of an input that a reader has taken further than others. */
export function vary(original: Buffer, random: Random, materials: Materials): Buffer {
  let bytes = original;
  for (let times = 1 << random.pick(CHANGES_LOG2); times > 0; times--) {
    bytes = random.pick(CHANGES)(bytes, random, materials).subarray(0, materials.maxBytes);
  }
  return bytes;
}

function setByte(bytes: Buffer, random: Random): Buffer {
  return put(bytes, random.below(bytes.length), random.bytes(1), 1);
}

function flipBit(bytes: Buffer, random: Random): Buffer {
  const changed = Buffer.from(bytes);
  const at = random.below(bytes.length);
  if (at < bytes.length) changed[at] = (bytes[at] as number) ^ (1 << random.below(8));
  return changed;
}

function addLittle(bytes: Buffer, random: Random): Buffer {
  const changed = Buffer.from(bytes);
  const at = random.below(bytes.length);
  if (at < bytes.length) changed[at] = (bytes[at] as number) + random.below(33) - 16;
  return changed;
}

function setInteger(bytes: Buffer, random: Random): Buffer {
  const width = random.pick([1, 2, 4, 8]);
  const value = Buffer.alloc(8);
  value.writeBigUInt64LE(random.pick(EDGES));
  const written = value.subarray(0, width);
  return put(bytes, random.below(bytes.length), random.below(2) === 0 ? written : written.toReversed(), width);
}

/** As protobuf writes numbers and lengths. */
function setVarint(bytes: Buffer, random: Random): Buffer {
  const written: number[] = [];
  let rest = random.pick(EDGES);
  for (; rest >= 128n; rest >>= 7n) written.push(Number(rest & 127n) | 128);
  written.push(Number(rest));
  return put(bytes, random.below(bytes.length), Uint8Array.from(written), random.below(3));
}

/** A number that is written in digits, such as a length in a text. */
function setDigits(bytes: Buffer, random: Random): Buffer {
  const found = [...bytes.toString("latin1").matchAll(DIGITS)];
  if (found.length === 0) return bytes;
  const { index, 0: digits } = random.pick(found);
  const value = random.pick([...EDGES, BigInt(digits.slice(0, 20)) + 1n]);
  const isOctal = random.below(4) === 0;
  return put(bytes, index, Buffer.from(value.toString(isOctal ? 8 : 10)), digits.length);
}

function removePart(bytes: Buffer, random: Random): Buffer {
  const at = random.below(bytes.length);
  return put(bytes, at, Buffer.alloc(0), partLength(bytes.length - at, random));
}

/** Again and again: what costs more for each time shows here. */
function repeatPart(bytes: Buffer, random: Random, { maxBytes }: Materials): Buffer {
  const at = random.below(bytes.length);
  const part = bytes.subarray(at, at + partLength(bytes.length - at, random));
  const times = Math.min(random.pick([1, 1, 2, 8, 64, 512]), Math.ceil(maxBytes / Math.max(1, part.length)));
  return put(bytes, at, Buffer.concat(Array.from({ length: times }, () => part)), 0);
}

function partLength(most: number, random: Random): number {
  return Math.min(most, random.pick([1, 2, 4, 8, 1 + random.below(64), random.below(most + 1)]));
}

function addWord(bytes: Buffer, random: Random, { words }: Materials): Buffer {
  return put(bytes, random.below(bytes.length + 1), random.pick(words), 0);
}

function setWord(bytes: Buffer, random: Random, { words }: Materials): Buffer {
  const word = random.pick(words);
  return put(bytes, random.below(bytes.length + 1), word, word.length);
}

/** The beginning of one and the end of another, or a part of the other within it. */
function joinOther(bytes: Buffer, random: Random, { others }: Materials): Buffer {
  const other = random.pick(others);
  const from = random.below(other.length);
  if (random.below(2) === 0) return put(bytes, random.below(bytes.length), other.subarray(from), bytes.length);
  return put(bytes, random.below(bytes.length), other.subarray(from, from + partLength(other.length, random)), 0);
}

/** Bytes in place of so many from a place on. */
function put(bytes: Buffer, at: number, part: Uint8Array, instead: number): Buffer {
  return Buffer.concat([bytes.subarray(0, at), part, bytes.subarray(at + instead)]);
}

/** Bytes as which texts and numbers may stand in an input: numbers in each width and order. */
export function toWords(values: Iterable<string | number>): Buffer[] {
  return [...values].flatMap((value) => {
    if (typeof value === "string") return [Buffer.from(value)];
    if (!Number.isSafeInteger(value)) return [Buffer.from(String(value))];
    const all = Buffer.alloc(8);
    all.writeBigInt64LE(BigInt(value));
    if (value >= 0 && value < 256) return [all.subarray(0, 1)];
    const little = all.subarray(0, value >= 0 && value < 65_536 ? 2 : 4);
    return [Buffer.from(String(value)), little, Buffer.from(little.toReversed())];
  });
}
