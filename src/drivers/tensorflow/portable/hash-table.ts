import * as tf from "@tensorflow/tfjs-core";
import { elementCount } from "../../../tensor/tensor.ts";
import { carrierOfType, TYPE } from "./element-types.ts";
import { Strings, type Value } from "./values.ts";

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
    for (const [index, key] of elementsOf(keys).entries()) this.add(key, elements[index] as Element);
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
