import type { DecodeBudget } from "../../../platform/limits/memory/decode-budget.ts";
import { slowFloatText } from "./float-layout.ts";

/**
 * JSON as {@link parseJson} gives it: like JSON.parse, but a number, and a regular list of numbers nested to any depth,
 * is one {@link JsonNumbers}. An empty list is an empty array.
 */
export type JsonValue = null | boolean | string | JsonNumbers | JsonList | JsonObject;
/** A list that is not all numbers, or not regular. */
export type JsonList = readonly JsonValue[];
/** A null-prototype record: a key such as `__proto__` is data. Of equal keys the last one holds. */
export type JsonObject = { readonly [key: string]: JsonValue };

/** Memory of a value that is an object, in bytes: all values but the numbers in regular lists. */
export const VALUE_BYTES = 64;
/**
 * Further bytes of an object, and of a list that is not all numbers: V8 makes room for a few members or elements at
 * once.
 */
export const CONTAINER_BYTES = 128;
/** Bytes of a shape, without its dimensions. */
export const SHAPE_BYTES = 48;
/** Bytes of a number in a {@link NumberStore}. */
const NUMBER_BYTES = 9;

/** Above the magnitude of any number that is short enough to be read without raising the bound. */
const SHORT_BOUND = 1e20;

/** Small documents use a common block of memory: their own ArrayBuffer would cost more than their numbers. */
const BLOCK_BYTES = 64 * 1024;
const SMALL_BYTES = 2 * 1024;

let block = new ArrayBuffer(BLOCK_BYTES);
let blockUsed = 0;

/** Zeroed, unused memory, aligned for doubles from `start` on. */
function takeMemory(bytes: number): { readonly memory: ArrayBuffer; readonly start: number } {
  if (bytes > SMALL_BYTES) return { memory: new ArrayBuffer(bytes), start: 0 };
  if (blockUsed + bytes > BLOCK_BYTES) {
    block = new ArrayBuffer(BLOCK_BYTES);
    blockUsed = 0;
  }
  const start = blockUsed;
  blockUsed += Math.ceil(bytes / Float64Array.BYTES_PER_ELEMENT) * Float64Array.BYTES_PER_ELEMENT;
  return { memory: block, start };
}

/** All numbers of a document, in its order. */
export class NumberStore {
  values: Float64Array;
  /** 1 if the literal has a fraction or an exponent, is a word such as NaN, or does not fit 64 bits; else 0. */
  fractions: Uint8Array;
  /** The integer literals that a double does not hold, by index. */
  exact: Map<number, bigint> | undefined = undefined;
  /** A magnitude that no finite number exceeds. */
  bound = SHORT_BOUND;
  length = 0;
  /** Limit on the memory of the document's values. */
  readonly budget: DecodeBudget;

  /** `budget` counts the memory beyond `capacity`. */
  constructor(capacity: number, budget: DecodeBudget) {
    this.budget = budget;
    const { memory, start } = takeMemory(capacity * NUMBER_BYTES);
    this.values = new Float64Array(memory, start, capacity);
    this.fractions = new Uint8Array(memory, start + capacity * Float64Array.BYTES_PER_ELEMENT, capacity);
  }

  push(value: number, integral: boolean): void {
    if (this.length === this.values.length) this.#grow();
    this.values[this.length] = value;
    if (!integral) this.fractions[this.length] = 1;
    this.length++;
  }

  #grow(): void {
    const { values, fractions } = this;
    const affordable = Math.max(1, Math.floor(this.budget.leftBytes / NUMBER_BYTES));
    const more = Math.min(values.length, affordable);
    this.budget.spend(more * NUMBER_BYTES, () => "one more number");
    this.values = new Float64Array(values.length + more);
    this.values.set(values);
    this.fractions = new Uint8Array(values.length + more);
    this.fractions.set(fractions);
  }
}

/** One number (rank 0), or a regular nested list of numbers: a stretch of its document's {@link NumberStore}. */
export class JsonNumbers {
  readonly store: NumberStore;
  /** Index of the first number in the store. */
  readonly start: number;
  readonly shape: readonly number[];
  /** Count of its numbers. */
  readonly size: number;

  constructor(store: NumberStore, start: number, shape: readonly number[]) {
    this.store = store;
    this.start = start;
    this.shape = shape;
    let size = 1;
    for (let level = 0; level < shape.length; level++) size *= shape[level]!;
    this.size = size;
  }

  /** The number at an index, as bigint if a double would not hold it. */
  at(index: number): number | bigint {
    const { store, start } = this;
    const value = store.values[start + index]!;
    return store.exact?.get(start + index) ?? value;
  }

  /** Checks that the literal at an index is an integer of at most 64 bits, without fraction or exponent. */
  isInteger(index: number): boolean {
    return this.store.fractions[this.start + index] === 0;
  }

  /** One number as a separate value. */
  scalar(index: number): JsonNumbers {
    return new JsonNumbers(this.store, this.start + index, []);
  }

  /** The element at an index of the first dimension. */
  row(index: number): JsonNumbers {
    const size = this.size / this.shape[0]!;
    return new JsonNumbers(this.store, this.start + index * size, this.shape.slice(1));
  }
}

/** Checks that a value is a list, and not one block of numbers. */
export function isJsonList(value: JsonValue): value is JsonList {
  return Array.isArray(value);
}

/** Checks that a value is an object. */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof JsonNumbers);
}

/** The length of a value that is a list of either kind, else undefined. */
export function listLength(value: JsonValue): number | undefined {
  if (isJsonList(value)) return value.length;
  return value instanceof JsonNumbers ? value.shape[0] : undefined;
}

/** As much of a value as an error message shows. */
const MAX_LENGTH = 256;
const INDENT = 4;

/**
 * A value as indented JSON text for an error message, cut at 256 characters; so
 * neither the size nor the depth of the value matters.
 */
export function dumpJson(value: JsonValue): string {
  const dump = new Dump();
  dump.add(value, 0);
  return dump.text.length > MAX_LENGTH ? `${dump.text.slice(0, MAX_LENGTH)}...` : dump.text;
}

/** Stops adding once the text is long enough; each level adds a character, so the call stack is bounded too. */
class Dump {
  text = "";

  add(value: JsonValue, level: number): void {
    if (this.text.length > MAX_LENGTH) return;
    if (value instanceof JsonNumbers) this.#addNumbers(value, level);
    else if (isJsonList(value)) this.#addList(value.length, level, (index) => this.add(value[index]!, level + 1));
    else if (typeof value === "object" && value !== null) this.#addObject(Object.entries(value), level);
    else if (typeof value === "string") this.text += JSON.stringify(value.slice(0, MAX_LENGTH + 1));
    else this.text += String(value);
  }

  #addNumbers(numbers: JsonNumbers, level: number): void {
    const length = numbers.shape[0];
    if (length !== undefined) this.#addList(length, level, (index) => this.#addNumbers(numbers.row(index), level + 1));
    else this.text += numberText(numbers);
  }

  #addList(length: number, level: number, addElement: (index: number) => void): void {
    this.text += "[";
    for (let index = 0; index < length && this.text.length <= MAX_LENGTH; index++) {
      this.#startLine(index, level + 1);
      addElement(index);
    }
    this.#endLines(length, level, "]");
  }

  #addObject(entries: readonly (readonly [string, JsonValue])[], level: number): void {
    this.text += "{";
    for (let index = 0; index < entries.length && this.text.length <= MAX_LENGTH; index++) {
      const [key, value] = entries[index]!;
      this.#startLine(index, level + 1);
      this.text += `${JSON.stringify(key.slice(0, MAX_LENGTH + 1))}: `;
      this.add(value, level + 1);
    }
    this.#endLines(entries.length, level, "}");
  }

  #startLine(index: number, level: number): void {
    this.text += `${index === 0 ? "" : ","}\n${" ".repeat(INDENT * level)}`;
  }

  #endLines(count: number, level: number, close: string): void {
    this.text += count === 0 ? close : `\n${" ".repeat(INDENT * level)}${close}`;
  }
}

function numberText(scalar: JsonNumbers): string {
  const value = scalar.at(0);
  return typeof value === "bigint" || scalar.isInteger(0) ? String(value) : slowFloatText(value, "float64");
}
