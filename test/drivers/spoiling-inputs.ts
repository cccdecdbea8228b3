import { type DType, type NumericData, type NumericDType, numericLayout } from "../../src/tensor/dtype.ts";
import { createTensor, elementCount, type Tensor } from "../../src/tensor/tensor.ts";
import type { TensorRecord } from "./expect-tensors.ts";

type Element = number | bigint | Uint8Array;
type Variant = readonly [what: string, inputs: TensorRecord];

/** Variants of good inputs, on which a model may fail, or which the server refuses before it runs. */
export function spoilingInputs(good: TensorRecord): readonly Variant[] {
  const variants = Object.entries(good).flatMap(([name, tensor]) =>
    variantsOf(tensor).map(([what, changed]): Variant => [`${name} ${what}`, { ...good, [name]: changed }]),
  );
  return [...variants, ["no input", {}], ["an unknown input", { ...good, unknown: filled("int8", [1], 0) }]];
}

function variantsOf(tensor: Tensor): (readonly [what: string, changed: Tensor])[] {
  const { dtype, shape } = tensor;
  return [
    ...shapesBeside(shape).map((other) => [`of shape [${other}]`, repeated(tensor, other)] as const),
    ...extremesOf(dtype).map((element) => [`full of ${element}`, filled(dtype, shape, element)] as const),
    ["of another dtype", filled(dtype === "int8" ? "int16" : "int8", shape, 0)],
  ];
}

/** Each axis empty, longer and much longer; another rank. */
function shapesBeside(shape: readonly number[]): number[][] {
  const others = shape.flatMap((size, axis) => [0, 1, size + 1, 7 * size + 5].map((other) => shape.with(axis, other)));
  const all = [...others, [...shape, 1], [1, ...shape], shape.slice(1), shape.map(() => 0)];
  return all.filter((other) => other.length !== shape.length || other.join() !== shape.join());
}

function repeated({ dtype, shape, data }: Tensor, other: readonly number[]): Tensor {
  const [count, former] = [elementCount(other), elementCount(shape)];
  if (former === 0) return filled(dtype, other, 0);
  const element = (index: number) => data[index % data.length] as Element;
  if (dtype === "bytes")
    return createTensor(
      dtype,
      other,
      Array.from({ length: count }, (_, i) => element(i) as never),
    );
  const made = empty(dtype, count);
  for (let index = 0; index < made.length; index++) made[index] = element(index) as never;
  return createTensor(dtype, other, made as never);
}

function extremesOf(dtype: DType): readonly Element[] {
  if (dtype === "bytes") return [new Uint8Array(), new Uint8Array(99).fill(255)];
  if (dtype === "bool") return [0, 1];
  // The bits of not a number, infinity and the least number.
  if (dtype.includes("float16")) return [0x7fff, dtype === "float16" ? 0x7c00 : 0x7f80, 0xfbff];
  if (!dtype.includes("int")) return [Number.NaN, Number.POSITIVE_INFINITY, -3e38];
  const bits = 8 * numericLayout(dtype).bytes;
  const values = dtype.startsWith("u") ? [2n ** BigInt(bits) - 1n] : [-1n, -(2n ** BigInt(bits - 1))];
  return bits === 64 ? values : values.map(Number);
}

function filled(dtype: DType, shape: readonly number[], element: Element): Tensor {
  const count = elementCount(shape);
  if (dtype === "bytes") return createTensor(dtype, shape, new Array(count).fill(element || new Uint8Array()));
  const data = empty(dtype, count);
  const isBig = data instanceof BigInt64Array || data instanceof BigUint64Array;
  return createTensor(dtype, shape, data.fill((isBig ? BigInt(element as number) : element) as never) as never);
}

function empty(dtype: NumericDType, count: number): NumericData {
  const { array, slots } = numericLayout(dtype);
  return new array(count * slots);
}
