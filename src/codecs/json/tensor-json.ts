import { ServingError } from "../../errors.ts";
import { fromBfloat16, fromFloat16 } from "../../tensor/float16.ts";
import { hasTooManyLists } from "../../tensor/list-count.ts";
import { packedOf } from "../../tensor/packed-bytes.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { MAX_FLOAT_BYTES, writeFloat32, writeFloat64 } from "./float-text.ts";
import type { JsonWriter } from "./json-writer.ts";

/** Style in which a protocol writes tensors. */
export interface TensorStyle {
  /** Between the elements of a list. */
  readonly separator: ", " | ",";
  /** Replacement of NaN and infinities; absent = the bare words, which only lenient readers accept. */
  readonly nonFinite?: (writer: JsonWriter, value: number, tensor: Tensor) => void;
  /** Writes one element of a `bytes` tensor. */
  readonly bytes: (writer: JsonWriter, element: Uint8Array) => void;
}

/** Writes a tensor as lists nested like its shape; rank 0 is the bare value. Throws `unimplemented` for complex numbers. */
export function writeTensor(writer: JsonWriter, tensor: Tensor, style: TensorStyle): void {
  new TensorWriter(writer, tensor, style).write(0, 0);
}

/** A function that writes one element of the first dimension; the tensor has rank 1 at least. */
export function rowWriter(writer: JsonWriter, tensor: Tensor, style: TensorStyle): (row: number) => void {
  const tensorWriter = new TensorWriter(writer, tensor, style);
  return (row) => tensorWriter.write(1, row * tensorWriter.stride(0));
}

/** Writes `count` elements from `start` on, with separators between them. */
type WriteElements = (start: number, count: number) => void;

class TensorWriter {
  readonly #writer: JsonWriter;
  readonly #shape: readonly number[];
  readonly #separator: string;
  readonly #writeElements: WriteElements;

  constructor(writer: JsonWriter, tensor: Tensor, style: TensorStyle) {
    if (hasTooManyLists(tensor.shape)) throw tooManyLists(tensor.shape);
    this.#writer = writer;
    this.#shape = tensor.shape;
    this.#separator = style.separator;
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
    if (level === this.#shape.length - 1) this.#writeElements(start, this.#shape[level]!);
    else this.#writeLists(level, start);
    this.#writer.ascii("]");
  }

  #writeLists(level: number, start: number): void {
    const stride = this.stride(level);
    for (let index = 0; index < this.#shape[level]!; index++) {
      if (index > 0) this.#writer.ascii(this.#separator);
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
      return floats(writer, tensor, style, (index) => fromFloat16(tensor.data[index]!));
    case "bfloat16":
      return floats(writer, tensor, style, (index) => fromBfloat16(tensor.data[index]!));
    case "float32":
    case "float64":
      return floats(writer, tensor, style, readerOf(tensor.data));
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

/** One closure for each kind of array, so that its reads stay simple. */
function readerOf(data: Float32Array | Float64Array): (index: number) => number {
  if (data instanceof Float32Array) return (index) => data[index]!;
  return (index) => data[index]!;
}

/** Elements that are written between two looks at the writer's room. */
const FLOATS_AT_ONCE = 256;
const [COMMA, SPACE] = [0x2c, 0x20];

function floats(
  writer: JsonWriter,
  tensor: Tensor,
  { separator, nonFinite }: TensorStyle,
  valueAt: (index: number) => number,
): WriteElements {
  const writeFloat = tensor.dtype === "float64" ? writeFloat64 : writeFloat32;
  const hasSpace = separator === ", ";
  return (start, count) => {
    let buffer: Uint8Array = writer.reserve(0);
    let at = writer.length;
    for (let index = start; index < start + count; index++) {
      if ((index - start) % FLOATS_AT_ONCE === 0) {
        writer.advance(at);
        buffer = writer.reserve(FLOATS_AT_ONCE * (MAX_FLOAT_BYTES + separator.length));
      }
      if (index > start) buffer[at++] = COMMA;
      if (index > start && hasSpace) buffer[at++] = SPACE;
      const value = valueAt(index);
      if (nonFinite === undefined || Number.isFinite(value)) {
        at = writeFloat(buffer, at, value);
        continue;
      }
      writer.advance(at);
      nonFinite(writer, value, tensor);
      buffer = writer.reserve(FLOATS_AT_ONCE * (MAX_FLOAT_BYTES + separator.length));
      at = writer.length;
    }
    writer.advance(at);
  };
}
