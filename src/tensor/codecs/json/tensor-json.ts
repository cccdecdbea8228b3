import { ServingError } from "../../../errors.ts";
import type { DType, NumericData, NumericDType } from "../../dtype.ts";
import { fromBfloat16, fromFloat16 } from "../../float16.ts";
import { packedOf } from "../../packed-bytes.ts";
import { createTensor, hasTooManyLists, type Tensor } from "../../tensor.ts";
import { MAX_FLOAT_BYTES, writeFloat32, writeFloat64 } from "./float-text.ts";
import { isLeftOut, JsonOutline, type JsonWriter, type NonFiniteRule, type NumberStyle } from "./json-writer.ts";

/** Style in which a protocol writes tensors. */
export interface TensorStyle extends NumberStyle {
  /** Writes one element of a `bytes` tensor. */
  readonly bytes: (writer: JsonWriter, element: Uint8Array) => void;
}

/**
 * Writes a tensor as lists nested like its shape; rank 0 is the bare value. Throws `unimplemented` for complex numbers.
 */
export function writeTensor(writer: JsonWriter, tensor: Tensor, style: TensorStyle): void {
  new TensorWriter(writer, tensor, style).write(0, 0);
}

/** Writes the elements of a tensor's first dimension with separators between them, without the brackets around them. */
export function writeItems(writer: JsonWriter, tensor: Tensor, style: TensorStyle): void {
  new TensorWriter(writer, tensor, style).writeItems(0, 0);
}

/** A function that writes one element of the first dimension; the tensor has rank 1 at least. */
export function rowWriter(writer: JsonWriter, tensor: Tensor, style: TensorStyle): (row: number) => void {
  const tensorWriter = new TensorWriter(writer, tensor, style);
  return (row) => tensorWriter.write(1, row * tensorWriter.stride(0));
}

class TensorWriter {
  readonly #writer: JsonWriter;
  readonly #tensor: Tensor;
  readonly #style: TensorStyle;
  readonly #shape: readonly number[];
  readonly #writeElements: WriteElements;

  constructor(writer: JsonWriter, tensor: Tensor, style: TensorStyle) {
    if (hasTooManyLists(tensor.shape)) throw tooManyLists(tensor.shape);
    this.#writer = writer;
    this.#tensor = tensor;
    this.#style = style;
    this.#shape = tensor.shape;
    this.#writeElements = elementsWriter(writer, tensor, style);
  }

  /** Elements in one step of a dimension. */
  stride(dimension: number): number {
    let product = 1;
    for (let level = dimension + 1; level < this.#shape.length; level++) product *= this.#shape[level]!;
    return product;
  }

  /** Writes the values from `start` on: one value, or the lists of this level and those below. */
  write(level: number, start: number): void {
    if (level === this.#shape.length) {
      this.#writeElements(start, 1);
      return;
    }
    this.#writer.ascii("[");
    this.writeItems(level, start);
    this.#writer.ascii("]");
  }

  /** Writes the values of the list of this level that begins with a value, or leaves them to the outline. */
  writeItems(level: number, start: number): void {
    const count = this.#shape[level]!;
    if (this.#writer instanceof JsonOutline && isLeftOut(this.#tensor.dtype, count * this.stride(level)))
      this.#writer.leaveOut({ items: this.#items(level, start), style: this.#style });
    else if (level === this.#shape.length - 1) this.#writeElements(start, count);
    else this.#writeLists(level, start);
  }

  #items(level: number, start: number): Tensor {
    const { dtype, data } = this.#tensor;
    const end = start + this.#shape[level]! * this.stride(level);
    return createTensor(
      dtype as NumericDType,
      this.#shape.slice(level),
      (data as NumericData).subarray(start, end) as never,
    );
  }

  #writeLists(level: number, start: number): void {
    const stride = this.stride(level);
    for (let index = 0; index < this.#shape[level]!; index++) {
      if (index > 0) this.#writer.ascii(this.#style.separator);
      this.write(level + 1, start + index * stride);
    }
  }
}

function tooManyLists(shape: readonly number[]): ServingError {
  const message = `An output has shape [${shape}], far more lists than values; it cannot be written as JSON.`;
  return new ServingError("internal", message);
}

function elementsWriter(writer: JsonWriter, tensor: Tensor, style: TensorStyle): WriteElements {
  const { dtype } = tensor;
  switch (dtype) {
    case "bool":
      return each(writer, style, (index) => writer.ascii(tensor.data[index] === 0 ? "false" : "true"));
    case "bytes":
      return bytes(writer, tensor, style);
    case "float16":
    case "bfloat16":
    case "float32":
    case "float64":
      return floatsWriter(writer, tensor, style);
    case "complex64":
    case "complex128":
      throw new ServingError("unimplemented", `Failed to write JSON value for tensor type: ${dtype}`);
    default:
      return each(writer, style, (index) => writer.integer(tensor.data[index] as number | bigint));
  }
}

function each(writer: JsonWriter, { separator }: TensorStyle, write: (index: number) => void): WriteElements {
  return (start, count) => {
    for (let index = start; index < start + count; index++) {
      if (index > start) writer.ascii(separator);
      write(index);
    }
  };
}

/** Elements that are packed stay so: a view of each is made when it is written. */
function bytes(writer: JsonWriter, tensor: Tensor<"bytes">, style: TensorStyle): WriteElements {
  const packed = packedOf(tensor);
  if (packed === undefined) return each(writer, style, (index) => style.bytes(writer, tensor.data[index]!));
  const { content, ranges } = packed;
  return each(writer, style, (index) =>
    style.bytes(writer, content.subarray(ranges[2 * index], ranges[2 * index + 1])),
  );
}

/** Writes `count` elements from `start` on, with separators between them. */
type WriteElements = (start: number, count: number) => void;

type FloatTensor = Tensor<"float16" | "bfloat16" | "float32" | "float64">;

/** Elements that are written between two looks at the writer's room. */
const FLOATS_AT_ONCE = 256;
const ELEMENT_BYTES = MAX_FLOAT_BYTES + 2;
/** Both separators, the comma in the lower byte: what follows is written over the space if there is none. */
const COMMA_SPACE = 0x202c;

/** A function that writes elements of a tensor of floats. */
function floatsWriter(writer: JsonWriter, tensor: FloatTensor, style: NumberStyle): WriteElements {
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

const LARGEST: Partial<Record<DType, string>> = {
  float16: "65504.0",
  bfloat16: "3.3895314e+38",
  float32: "3.40282347e+38",
  float64: "1.7976931348623157e+308",
};

/** The text of NaN or an infinity of a dtype. */
function nonFiniteText(value: number, dtype: DType, rule: NonFiniteRule): string {
  if (Number.isNaN(value) || rule === "null") return "null";
  return `${value < 0 ? "-" : ""}${LARGEST[dtype]}`;
}
