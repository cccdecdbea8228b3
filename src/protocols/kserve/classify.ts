import { ServingError } from "../../errors.ts";
import { fromBfloat16, fromFloat16 } from "../../tensor/float16.ts";
import { createTensor, type Tensor } from "../../tensor/tensor.ts";

/** How many classes a client wants of an output, and what they are called. */
interface Output {
  readonly name: string;
  /** One text for each class; absent = none are known. */
  readonly labels?: readonly string[] | undefined;
}

const encoder = new TextEncoder();

/**
 * The greatest `count` values of each row as `"value:index"` or `"value:index:label"`, greatest first: shape [batch, count],
 * or [count] for rank 1 (the classification extension). Throws `invalid_argument` for an output without numbers.
 */
export function classify(tensor: Tensor, count: number, output: Output): Tensor<"bytes"> {
  const { shape } = tensor;
  if (tensor.dtype === "bytes" || tensor.dtype.startsWith("complex") || shape.length === 0) {
    throw new ServingError(
      "invalid_argument",
      `class result not available for output '${output.name}' of datatype ${tensor.dtype} and shape [${shape}]; it needs numbers in at least one dimension`,
    );
  }
  const rows = shape.length === 1 ? 1 : (shape[0] as number);
  const width = rows === 0 ? 0 : tensor.data.length / rows;
  const kept = Math.min(count, width);
  const data = Array.from({ length: rows }, (_, row) =>
    topOf(tensor, { start: row * width, width, kept }).map((index) =>
      encoder.encode(describe(tensor, row * width + index, { index, labels: output.labels })),
    ),
  ).flat();
  return createTensor("bytes", shape.length === 1 ? [kept] : [rows, kept], data);
}

interface Row {
  readonly start: number;
  readonly width: number;
  readonly kept: number;
}

/** The indices within a row of its greatest values, greatest first; equal ones in their order, NaN last. */
function topOf(tensor: Tensor, { start, width, kept }: Row): number[] {
  const order = Uint32Array.from({ length: width }, (_, index) => index);
  const compare = (a: number, b: number) => {
    const [first, second] = [valueAt(tensor, start + a), valueAt(tensor, start + b)];
    if (first > second) return -1;
    if (second > first) return 1;
    return Number(Number.isNaN(first)) - Number(Number.isNaN(second)) || a - b;
  };
  return [...order.sort(compare).subarray(0, kept)];
}

function valueAt({ dtype, data }: Tensor, index: number): number | bigint {
  const value = data[index] as number | bigint;
  if (dtype === "float16") return fromFloat16(value as number);
  return dtype === "bfloat16" ? fromBfloat16(value as number) : value;
}

interface ClassName {
  readonly index: number;
  readonly labels: readonly string[] | undefined;
}

/** Floats as C's printf("%f") writes them, which is what clients have seen. */
function describe(tensor: Tensor, at: number, { index, labels }: ClassName): string {
  const value = valueAt(tensor, at);
  const isFloat = typeof value === "number" && tensor.dtype.includes("float");
  const number = isFloat ? toFixed(value) : String(value);
  const label = labels?.[index];
  return label === undefined ? `${number}:${index}` : `${number}:${index}:${label}`;
}

/** toFixed() gives up its form beyond 1e21, and writes infinities its own way. */
function toFixed(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value < 0 ? "-inf" : "inf";
  return Math.abs(value) < 1e21 ? value.toFixed(6) : `${BigInt(value)}.000000`;
}
