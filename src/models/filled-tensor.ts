import { type NumericDType, numericLayout } from "../tensor/dtype.ts";
import type { ExampleInput } from "../tensor/signature/example-inputs.ts";
import { createTensor, elementCount, type Tensor } from "../tensor/tensor.ts";

/** The bits of numbers in types that travel as bits. */
const BITS: Partial<Record<NumericDType, Readonly<Record<0.5 | 1, number>>>> = {
  float16: { 0.5: 0x3800, 1: 0x3c00 },
  bfloat16: { 0.5: 0x3f00, 1: 0x3f80 },
};

/** The tensor of an example's input. */
export function filledTensor({ dtype, shape, element }: ExampleInput): Tensor {
  const count = elementCount(shape);
  if (dtype === "bytes") return createTensor(dtype, shape, new Array<Uint8Array>(count).fill(element as Uint8Array));
  const { array, slots } = numericLayout(dtype);
  const data = new array(count * slots);
  if (element === 0.5 || element === 1) {
    const isBig = data instanceof BigInt64Array || data instanceof BigUint64Array;
    const value = isBig ? 1n : (BITS[dtype]?.[element] ?? element);
    for (let at = 0; at < data.length; at += slots) data[at] = value;
  }
  return createTensor(dtype, shape, data);
}
