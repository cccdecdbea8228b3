import { ServingError } from "../../errors.ts";
import { fromBfloat16, fromFloat16 } from "../../tensor/float16.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { writeFloat32, writeFloat64 } from "./float-text.ts";
import type { JsonWriter } from "./json-writer.ts";

/** How a protocol writes tensors. */
export interface TensorStyle {
  /** Between the elements of a list. */
  readonly separator: ", " | ",";
  /** Stands in for NaN and infinities; absent = the bare words, which only lenient readers take. */
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

type WriteElement = (index: number) => void;

class TensorWriter {
  readonly #writer: JsonWriter;
  readonly #shape: readonly number[];
  readonly #separator: string;
  readonly #writeElement: WriteElement;

  constructor(writer: JsonWriter, tensor: Tensor, style: TensorStyle) {
    this.#writer = writer;
    this.#shape = tensor.shape;
    this.#separator = style.separator;
    this.#writeElement = elementWriter(writer, tensor, style);
  }

  /** Elements in one step of a dimension. */
  stride(dimension: number): number {
    return this.#shape.slice(dimension + 1).reduce((product, dim) => product * dim, 1);
  }

  /** Writes what lies at `start`: one value, or the lists of this level and those below. */
  write(level: number, start: number): void {
    if (level === this.#shape.length) {
      this.#writeElement(start);
      return;
    }
    const stride = this.stride(level);
    const isInnermost = level === this.#shape.length - 1;
    this.#writer.ascii("[");
    for (let index = 0; index < (this.#shape[level] as number); index++) {
      if (index > 0) this.#writer.ascii(this.#separator);
      if (isInnermost) this.#writeElement(start + index);
      else this.write(level + 1, start + index * stride);
    }
    this.#writer.ascii("]");
  }
}

function elementWriter(writer: JsonWriter, tensor: Tensor, style: TensorStyle): WriteElement {
  const { dtype } = tensor;
  switch (dtype) {
    case "bool":
      return (index) => writer.ascii(tensor.data[index] === 0 ? "false" : "true");
    case "bytes":
      return (index) => style.bytes(writer, tensor.data[index] as Uint8Array);
    case "float16":
      return floats(writer, tensor, style, (index) => fromFloat16(tensor.data[index] as number));
    case "bfloat16":
      return floats(writer, tensor, style, (index) => fromBfloat16(tensor.data[index] as number));
    case "float32":
    case "float64":
      return floats(writer, tensor, style, (index) => tensor.data[index] as number);
    case "complex64":
    case "complex128":
      throw new ServingError("unimplemented", `Failed to write JSON value for tensor type: ${dtype}`);
    default:
      return (index) => writer.integer(tensor.data[index] as number | bigint);
  }
}

function floats(
  writer: JsonWriter,
  tensor: Tensor,
  { nonFinite }: TensorStyle,
  valueAt: (index: number) => number,
): WriteElement {
  const writeFloat = tensor.dtype === "float64" ? writeFloat64 : writeFloat32;
  if (nonFinite === undefined) return (index) => writeFloat(writer, valueAt(index));
  return (index) => {
    const value = valueAt(index);
    if (Number.isFinite(value)) writeFloat(writer, value);
    else nonFinite(writer, value, tensor);
  };
}
