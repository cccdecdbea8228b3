import { invalidArgument, type ServingError } from "../errors.ts";
import { type DType, integerRange, type NumericDType, numericLayout, type TensorData } from "./dtype.ts";
import { floatWriter, fromBfloat16, fromFloat16 } from "./float16.ts";
import { createTensor, type Tensor } from "./tensor.ts";

type Value = number | bigint;

/**
 * The tensor with its numbers as another dtype, neither of them complex or `bytes`. Floats are rounded to the nearest,
 * but not to infinity; an integer dtype takes only what it holds exactly: throws `invalid_argument`, naming the
 * element, for a fraction and for what is out of range.
 */
export function convertTensor(tensor: Tensor, dtype: DType): Tensor {
  if (tensor.dtype === dtype) return tensor;
  const [from, to] = [tensor.dtype as NumericDType, dtype as NumericDType];
  const values = toValues(from, tensor.data as TensorData<NumericDType>);
  const data = new (numericLayout(to).array)(values.length);
  const toElement = elementWriter(to);
  for (let index = 0; index < values.length; index++) {
    const value = values[index]!;
    const element = toElement(value);
    if (element === undefined) throw notHeld(value, index, to);
    data[index] = element;
  }
  return createTensor(to, tensor.shape, data as TensorData<typeof to>);
}

function toValues(dtype: NumericDType, data: TensorData<NumericDType>): ArrayLike<Value> {
  if (dtype === "float16") return Float32Array.from(data as Uint16Array, fromFloat16);
  if (dtype === "bfloat16") return Float32Array.from(data as Uint16Array, fromBfloat16);
  return data;
}

/** The function that makes a value an element of a dtype; it returns undefined for one that the dtype does not hold. */
function elementWriter(dtype: NumericDType): (value: Value) => Value | undefined {
  const range = dtype === "bool" ? ([0, 2] as const) : integerRange(dtype);
  if (range === undefined) {
    const write = floatWriter(dtype);
    return (value) => write(Number(value));
  }
  const [first, end] = range;
  const isHeld = (value: Value) =>
    value >= first && value < end && (typeof value === "bigint" || Number.isInteger(value));
  const toElement = /64$/.test(dtype) ? BigInt : Number;
  return (value) => (isHeld(value) ? toElement(value) : undefined);
}

function notHeld(value: Value, index: number, dtype: DType): ServingError {
  const isFraction = !dtype.includes("float") && typeof value === "number" && !Number.isInteger(value);
  const why = isFraction ? "is not an integer" : "is out of its range";
  return invalidArgument(`Element ${index}, ${value}, cannot become ${dtype}: it ${why}.`);
}
