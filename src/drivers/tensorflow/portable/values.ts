import * as tf from "@tensorflow/tfjs-core";
import type { DType, NumericDType } from "../../../tensor/dtype.ts";
import { createTensor, elementCount, type Tensor } from "../../../tensor/tensor.ts";
import { fromTfjsTensor, toTfjsTensor } from "../tfjs/tfjs-tensor.ts";
import { carrierOfType, TYPE } from "./element-types.ts";

/** A value of a graph's edge: numbers, strings, or an object that only TensorFlow's own operations understand. */
export type Value = tf.Tensor | Strings | TensorList | Variable | HashTable;

/** A tensor of strings, which are bytes. */
export class Strings {
  readonly shape: readonly number[];
  // Private, so that TensorFlow.js, which looks for tensors in all that it is shown, does not walk the bytes.
  readonly #elements: readonly Uint8Array[];

  constructor(shape: readonly number[], elements: readonly Uint8Array[]) {
    if (elementCount(shape) !== elements.length) throw new Error(`${elements.length} strings for shape [${shape}]`);
    this.shape = shape;
    this.#elements = elements;
  }

  get elements(): readonly Uint8Array[] {
    return this.#elements;
  }
}

/** A list of tensors, as loops fill them. Never changed: an operation on it gives another. */
export class TensorList {
  /** Undefined if nothing was put yet. */
  readonly items: readonly (tf.Tensor | Strings | undefined)[];
  /** The elements' shape, -1 for any size; undefined for any rank. */
  readonly elementShape: readonly number[] | undefined;
  readonly carrier: "float32" | "int32" | "bool" | "string";

  constructor(items: TensorList["items"], like: Pick<TensorList, "elementShape" | "carrier">) {
    this.items = items;
    this.elementShape = like.elementShape;
    this.carrier = like.carrier;
  }
}

/** A variable's handle; its value never changes, since models that write are refused. */
export class Variable {
  readonly value: tf.Tensor | Strings;

  constructor(value: tf.Tensor | Strings) {
    this.value = value;
  }
}

/** The tensor that an operation takes; throws an Error for anything else. */
export function asTensor(value: Value | undefined): tf.Tensor {
  if (value instanceof tf.Tensor) return value;
  throw new Error(`expected numbers, got ${describe(value)}`);
}

/** A tensor of so many dimensions; throws an Error for any other value. */
export function requireRank(value: Value | undefined, rank: number): tf.Tensor {
  const tensor = asTensor(value);
  if (tensor.rank === rank) return tensor;
  throw new Error(`expected ${rank} dimensions, got a tensor of shape [${tensor.shape}]`);
}

/** The strings that an operation takes; throws an Error for anything else. */
export function asStrings(value: Value | undefined): Strings {
  if (value instanceof Strings) return value;
  throw new Error(`expected strings, got ${describe(value)}`);
}

/** The list that an operation takes; throws an Error for anything else. */
export function asList(value: Value | undefined): TensorList {
  if (value instanceof TensorList) return value;
  throw new Error(`expected a list of tensors, got ${describe(value)}`);
}

/** The numbers of a small tensor: axes, shapes, sizes. */
export function numbersOf(value: Value | undefined): number[] {
  return Array.from(asTensor(value).dataSync());
}

/** The numbers of a list, such as sizes; throws an Error for a tensor of another rank. */
export function listOf(value: Value | undefined, what: string): number[] {
  const { shape } = asTensor(value);
  if (shape.length === 1) return numbersOf(value);
  throw new Error(`${what} must be a list, not a tensor of shape [${shape}]`);
}

/** An axis from the first on; throws an Error if the tensor has none such. */
export function axisWithin(axis: number, rank: number): number {
  const resolved = axis < 0 ? axis + rank : axis;
  if (resolved >= 0 && resolved < rank) return resolved;
  throw new Error(`Axis ${axis} is not within [-${rank}, ${rank})`);
}

/** The only number of a tensor. */
export function numberOf(value: Value | undefined): number {
  const numbers = numbersOf(value);
  if (numbers.length === 1) return numbers[0]!;
  throw new Error(`expected one number, got ${numbers.length}`);
}

function describe(value: Value | undefined): string {
  return value === undefined
    ? "nothing"
    : value instanceof tf.Tensor
      ? `numbers (${value.dtype})`
      : value.constructor.name;
}

/** A key as what JavaScript compares by value. */
type Key = string | number;
/** A value, as the table gives it. */
type Element = Uint8Array | number;

/** A lookup table from strings or integers to strings or numbers; filled while the model loads, never later. */
export class HashTable {
  readonly #valueType: number;
  readonly #entries = new Map<Key, Element>();

  /** Of a number of TensorFlow's types. */
  constructor(valueType: number) {
    this.#valueType = valueType;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Adds entries; a key that is there already keeps its value. */
  fill(keys: Value, values: Value): void {
    const elements = elementsOf(values);
    for (const [index, key] of elementsOf(keys).entries()) this.add(key, elements[index]!);
  }

  /** Adds one entry, unless its key is there. */
  add(key: Element, value: Element): void {
    const plain = toKey(key);
    if (!this.#entries.has(plain)) this.#entries.set(plain, value);
  }

  /** The values of keys, in the keys' shape; the default for keys that are not there. */
  find(keys: Value, fallback: Value): Value {
    const [otherwise] = elementsOf(fallback);
    const found = elementsOf(keys).map((key) => this.#entries.get(toKey(key)) ?? (otherwise as Element));
    const { shape } = keys as Strings | tf.Tensor;
    if (this.#valueType === TYPE.string) return new Strings(shape, found as Uint8Array[]);
    if (elementCount(shape) === 0) return tf.tensor([], [...shape], carrierOfType(this.#valueType) ?? "int32");
    return tf.tensor(found as number[], [...shape], carrierOfType(this.#valueType) ?? "int32");
  }
}

function elementsOf(value: Value): readonly Element[] {
  if (value instanceof Strings) return value.elements;
  if (value instanceof tf.Tensor) return Array.from(value.dataSync());
  throw new Error("A table's keys and values are tensors.");
}

function toKey(element: Element): Key {
  return typeof element === "number" ? element : Buffer.from(element).toString("latin1");
}

/** Our tensor as a value; throws `invalid_argument`, naming `what`, for numbers that cannot be carried. */
export function toValue(tensor: Tensor, what: string): tf.Tensor | Strings {
  return tensor.dtype === "bytes" ? new Strings(tensor.shape, tensor.data) : toTfjsTensor(tensor, what);
}

/** A result as our tensor of the dtype that the signature declares; its numbers are copied. */
export function fromValue(value: Value, dtype: DType): Tensor {
  if (value instanceof tf.Tensor) return fromTfjsTensor(value, dtype as NumericDType);
  if (value instanceof Strings) return createTensor("bytes", value.shape, [...value.elements]);
  throw new Error(`A ${value.constructor.name} is not a tensor.`);
}

/**
 * Runs an operation that only moves elements. Strings take part by their numbers: the operation moves those, and the
 * strings follow.
 */
export function moveElements<Result extends tf.Tensor | tf.Tensor[]>(
  inputs: readonly Value[],
  operation: (tensors: tf.Tensor[]) => Result,
): Result extends tf.Tensor ? Value : Value[] {
  type Moved = Result extends tf.Tensor ? Value : Value[];
  if (!(inputs[0] instanceof Strings)) return moveNumbers(inputs.map(asTensor), operation) as unknown as Moved;
  const strings = inputs as readonly Strings[];
  const elements = strings.flatMap((input) => input.elements);
  const moved = tf.tidy(() => operation(toNumbers(strings)));
  const take = (numbers: tf.Tensor) => {
    const taken = Array.from(numbers.dataSync(), (index) => elements[index]!);
    const result = new Strings(numbers.shape, taken);
    numbers.dispose();
    return result;
  };
  return (Array.isArray(moved) ? moved.map(take) : take(moved)) as Moved;
}

/** WebAssembly's kernels for booleans are few, and some write beyond them. */
function moveNumbers(inputs: tf.Tensor[], operation: (tensors: tf.Tensor[]) => tf.Tensor | tf.Tensor[]) {
  if (inputs[0]?.dtype !== "bool") return operation(inputs);
  return tf.tidy(() => {
    const moved = operation(inputs.map((input) => tf.cast(input, "int32")));
    return Array.isArray(moved) ? moved.map((tensor) => tf.cast(tensor, "bool")) : tf.cast(moved, "bool");
  });
}

function toNumbers(inputs: readonly Strings[]): tf.Tensor[] {
  let next = 0;
  return inputs.map(({ shape }) => {
    const first = next;
    next += elementCount(shape);
    const numbers = Int32Array.from({ length: next - first }, (_, index) => first + index);
    return tf.tensor(numbers, [...shape], "int32");
  });
}
