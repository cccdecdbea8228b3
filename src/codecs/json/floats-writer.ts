import { fromBfloat16, fromFloat16 } from "../../tensor/float16.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { MAX_FLOAT_BYTES, writeFloat32, writeFloat64 } from "./float-text.ts";
import type { JsonWriter } from "./json-writer.ts";
import { type NonFiniteRule, nonFiniteText } from "./non-finite.ts";

/** Writes `count` elements from `start` on, with separators between them. */
export type WriteElements = (start: number, count: number) => void;

/** Style in which a protocol writes numbers. */
export interface NumberStyle {
  /** Between the elements of a list. */
  readonly separator: ", " | ",";
  /** Replacement of NaN and infinities; absent = the bare words, which only lenient readers accept. */
  readonly nonFinite?: NonFiniteRule | undefined;
}

type FloatTensor = Tensor<"float16" | "bfloat16" | "float32" | "float64">;

/** Elements that are written between two looks at the writer's room. */
const FLOATS_AT_ONCE = 256;
const ELEMENT_BYTES = MAX_FLOAT_BYTES + 2;
/** Both separators, the comma in the lower byte: what follows is written over the space where there is none. */
const COMMA_SPACE = 0x202c;

/** A function that writes elements of a tensor of floats. */
export function floatsWriter(writer: JsonWriter, tensor: FloatTensor, style: NumberStyle): WriteElements {
  const gap = style.separator.length;
  const writeRun = runWriter(tensor, style);
  return (start, count) => {
    const end = start + count;
    for (let from = start; from < end; from += FLOATS_AT_ONCE) {
      const to = Math.min(from + FLOATS_AT_ONCE, end);
      const text = writer.reserve((to - from) * ELEMENT_BYTES);
      const at = from > start ? writeSeparator(text, writer.length, gap) : writer.length;
      writer.advance(writeRun(text, at, from, to));
    }
  };
}

/** Writes the values from `start` to `end` with separators between them; returns where the text ends. */
type WriteRun = (text: DataView, at: number, start: number, end: number) => number;

function runWriter(tensor: FloatTensor, style: NumberStyle): WriteRun {
  const { dtype, data } = tensor;
  const { nonFinite } = style;
  const textOf = nonFinite && ((value: number) => nonFiniteText(value, dtype, nonFinite));
  const gap = style.separator.length;
  if (data instanceof Float32Array) return run32(data, gap, textOf);
  if (data instanceof Float64Array) return run64(data, gap, textOf);
  const values = new Float32Array(FLOATS_AT_ONCE);
  const writeRun = run32(values, gap, textOf);
  const toNumber = dtype === "float16" ? fromFloat16 : fromBfloat16;
  return (text, at, start, end) => {
    for (let index = start; index < end; index++) values[index - start] = toNumber(data[index]!);
    return writeRun(text, at, 0, end - start);
  };
}

type TextOf = ((value: number) => string) | undefined;

/** One function for each size of floats, so that its calls have one target. */
function run32(values: Float32Array, gap: number, textOf: TextOf): WriteRun {
  const bits = new Int32Array(values.buffer, values.byteOffset, values.length);
  return (text, from, start, end) => {
    let at = from;
    for (let index = start; index < end; index++) {
      if (index > start) at = writeSeparator(text, at, gap);
      const isWord = textOf !== undefined && !Number.isFinite(values[index]);
      at = isWord ? writeWord(text, at, textOf(values[index]!)) : writeFloat32(text, at, bits[index]!);
    }
    return at;
  };
}

function run64(values: Float64Array, gap: number, textOf: TextOf): WriteRun {
  return (text, from, start, end) => {
    let at = from;
    for (let index = start; index < end; index++) {
      if (index > start) at = writeSeparator(text, at, gap);
      const value = values[index]!;
      const isWord = textOf !== undefined && !Number.isFinite(value);
      at = isWord ? writeWord(text, at, textOf(value)) : writeFloat64(text, at, value);
    }
    return at;
  };
}

function writeSeparator(text: DataView, at: number, length: number): number {
  text.setUint16(at, COMMA_SPACE, true);
  return at + length;
}

function writeWord(text: DataView, from: number, word: string): number {
  for (let index = 0; index < word.length; index++) text.setUint8(from + index, word.charCodeAt(index));
  return from + word.length;
}
