import { ServingError } from "../../errors.ts";
import type { NumericData, NumericDType } from "../../tensor/dtype.ts";
import { hasTooManyLists } from "../../tensor/list-count.ts";
import { packedOf } from "../../tensor/packed-bytes.ts";
import { createTensor, type Tensor } from "../../tensor/tensor.ts";
import { floatsWriter, type NumberStyle, type WriteElements } from "./floats-writer.ts";
import { isLeftOut, JsonOutline } from "./json-outline.ts";
import type { JsonWriter } from "./json-writer.ts";

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
