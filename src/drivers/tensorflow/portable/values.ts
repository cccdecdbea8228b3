import * as tf from "@tensorflow/tfjs-core";
import { elementCount } from "../../../tensor/tensor.ts";
import type { HashTable } from "./hash-table.ts";

/** What flows along an edge of a graph: numbers, strings, or what only TensorFlow's own operations understand. */
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
  /** Undefined where nothing was put yet. */
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

/** The only number of a tensor. */
export function numberOf(value: Value | undefined): number {
  const numbers = numbersOf(value);
  if (numbers.length === 1) return numbers[0] as number;
  throw new Error(`expected one number, got ${numbers.length}`);
}

function describe(value: Value | undefined): string {
  return value === undefined
    ? "nothing"
    : value instanceof tf.Tensor
      ? `numbers (${value.dtype})`
      : value.constructor.name;
}
