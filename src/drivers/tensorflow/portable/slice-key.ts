/** Part of a variable: `shape` and, for each dimension, where it begins and how long it is. */
export interface VariableSlice {
  readonly name: string;
  readonly parts: readonly { readonly start: number; readonly length: number }[];
}

/** Bits of a number that its first byte has room for, and that each further byte adds. */
const [FIRST_BITS, MORE_BITS] = [6, 7];

/**
 * The key of a slice in a checkpoint's index, as latin-1 text: a 0, the name, the number of dimensions and their
 * bounds, each written so that bytes sort as values do
 * (https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/lib/strings/ordered_code.h).
 */
export function sliceKey({ name, parts }: VariableSlice): string {
  const bounds = parts.flatMap(({ start, length }) => [start, length]);
  return `\0${orderedText(name)}${orderedCount(parts.length)}${bounds.map(orderedNumber).join("")}`;
}

/**
 * Reads RestoreV2's description of a slice: the whole's sizes, then `start,length` for each dimension, or `-` for the
 * whole dimension.
 */
export function parseSlice(name: string, text: string): VariableSlice | undefined {
  const words = text.split(" ");
  const sizes = words.slice(0, -1).map(Number);
  const ranges = words.at(-1)?.split(":") ?? [];
  if (sizes.length !== ranges.length) return undefined;
  // A dimension that is there whole begins at 0 and has no length.
  const parts = ranges.map((range) => (range === "-" ? [0, -1] : range.split(",").map(Number)));
  const isSlice = parts.every(([start, length]) => Number.isInteger(start) && Number.isInteger(length));
  return isSlice ? { name, parts: parts.map(([start = 0, length = 0]) => ({ start, length })) } : undefined;
}

function orderedText(text: string): string {
  const bytes = Buffer.from(text).toString("latin1");
  return `${bytes.replace(/[\0\xff]/g, (byte) => (byte === "\0" ? "\0\xff" : "\xff\0"))}\0\x01`;
}

function orderedCount(count: number): string {
  return count === 0 ? "\0" : `\x01${String.fromCharCode(count)}`;
}

/** As many bytes as the number needs, of which the first bits say how many. */
function orderedNumber(value: number): string {
  const size = value < 0 ? -1 - value : value;
  let [bytes, bits] = [1, FIRST_BITS];
  for (; size >= 2 ** bits; bits += MORE_BITS) bytes++;
  const written = Buffer.alloc(8, value < 0 ? 0xff : 0);
  written.writeBigInt64BE(BigInt(value));
  const own = written.subarray(8 - bytes);
  own[0] = own[0]! ^ ((0xff00 >> bytes) & 0xff);
  return own.toString("latin1");
}
