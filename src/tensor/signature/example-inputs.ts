import { type DType, type NumericDType, numericLayout } from "../dtype.ts";
import { toBfloat16, toFloat16 } from "../float16.ts";
import { createTensor, createTensors, elementCount, type Tensor, type Tensors } from "../tensor.ts";
import type { Dimension, TensorSpec } from "./signature.ts";

/** Inputs for a first request to a model. */
export interface ExampleInputs {
  readonly inputs: readonly ExampleInput[];
  /**
   * True if the model ran on them; absent = it was not tried, since hooks take the inputs, or a run may change the
   * model.
   */
  readonly ran?: boolean;
  /** True if they are the columns of a table, of which a request may have rows. */
  readonly isTable?: boolean;
  /** True if the model still runs on the tried inputs; no code waits for it any more. */
  readonly stillRuns?: boolean;
  /** Names of inputs of which a size was guessed, beyond the first dimension, or everything but the name. */
  readonly guessed: readonly string[];
}

/** One input of an example: all elements are equal. */
export interface ExampleInput {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** A number, for booleans and complex numbers too, or the bytes of a string. */
  readonly element: number | Uint8Array;
  /** True if the element is one of those that the model knows, which may be all that it takes. */
  readonly isKnown?: boolean;
}

/** Example inputs of the shapes that a signature has, with the smallest size above 0 if it leaves one open. */
export function guessExamples(specs: readonly TensorSpec[]): readonly ExampleInput[] {
  return specs.map((spec) => {
    const { name, dtype, shape = [] } = spec;
    const otherwise = dtype === "bytes" ? Buffer.from("a") : 1;
    return { name, dtype, shape: shape.map(toSize), ...exampleElement(spec, otherwise) };
  });
}

/**
 * The element of an example: that of the model's own example, or the first value that the model knows, which is
 * another one's where it knows none.
 */
export function exampleElement(
  { categories, example: first = categories?.[0] }: Pick<TensorSpec, "categories" | "example">,
  otherwise: ExampleInput["element"],
): Pick<ExampleInput, "element" | "isKnown"> {
  if (first === undefined) return { element: otherwise };
  return { element: typeof first === "string" ? Buffer.from(first) : first, isKnown: true };
}

/** The element of an example as people write it in JSON. */
export function plainElement({ dtype, element }: Pick<ExampleInput, "dtype" | "element">): string | number | boolean {
  if (typeof element !== "number") return Buffer.from(element).toString();
  return dtype === "bool" ? element === 1 : element;
}

function toSize(size: Dimension): number {
  if (typeof size === "object") return Math.max(1, size.min);
  return size < 0 ? 1 : size;
}

/** Tensors of these shapes: floats from 0 to 1, integers 0 and 1, the same for the same seed. */
export function randomTensors(examples: readonly ExampleInput[], seed: number): Tensors {
  const next = generator(seed);
  return createTensors(examples.map((input) => [input.name, fill(input, next)]));
}

function fill(input: ExampleInput, next: () => number): Tensor {
  const { dtype, shape, isKnown = false } = input;
  if (dtype === "bytes" || isKnown) return filledTensor(input);
  const { array, slots } = numericLayout(dtype);
  const data = new array(elementCount(shape) * slots);
  for (let at = 0; at < data.length; at++) data[at] = numberOf(dtype, data, next());
  return createTensor(dtype, shape, data as never);
}

/** The tensor of an example's input; complex numbers have no imaginary part. */
export function filledTensor({ dtype, shape, element }: ExampleInput): Tensor {
  const count = elementCount(shape);
  if (dtype === "bytes") return createTensor(dtype, shape, new Array<Uint8Array>(count).fill(element as Uint8Array));
  const { array, slots } = numericLayout(dtype);
  const data = new array(count * slots);
  if (element !== 0) {
    const value = numberOf(dtype, data, element as number);
    for (let at = 0; at < data.length; at += slots) data[at] = value;
  }
  return createTensor(dtype, shape, data);
}

function numberOf(dtype: NumericDType, data: object, value: number): number | bigint {
  if (data instanceof BigInt64Array || data instanceof BigUint64Array) return BigInt(Math.round(value));
  if (dtype === "float16") return toFloat16(value);
  if (dtype === "bfloat16") return toBfloat16(value);
  return data instanceof Float32Array || data instanceof Float64Array ? value : Math.round(value);
}

/** Numbers from 0 to 1 (mulberry32). */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
