import type { DecodeBudget } from "../../../platform/limits/memory/decode-budget.ts";
import { createRecord } from "../../record.ts";
import {
  CONTAINER_BYTES,
  JsonNumbers,
  type JsonObject,
  type JsonValue,
  type NumberStore,
  SHAPE_BYTES,
  VALUE_BYTES,
} from "./json-value.ts";

/** Maximum number of dimensions of a block of numbers; deeper lists are arrays of blocks. */
const MAX_BLOCK_RANK = 64;
/** The shape of a single number. */
export const SCALAR: readonly number[] = [];

/** A list that is being read. While all its elements are numbers of one shape, they are only in the store, in order. */
export class ArrayFrame {
  readonly #store: NumberStore;
  #start: number;
  #count = 0;
  /** Shape of all elements so far; meaningless once there are items. */
  #elementShape = SCALAR;
  /** The elements, once they are not numbers of one shape. */
  #items: JsonValue[] | undefined;

  constructor(store: NumberStore) {
    this.#store = store;
    this.#start = store.length;
  }

  /** Makes a closed frame the frame of a new list. */
  reopen(): this {
    this.#start = this.#store.length;
    this.#count = 0;
    this.#elementShape = SCALAR;
    this.#items = undefined;
    return this;
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** Number of elements. */
  get length(): number {
    return this.#count;
  }

  /** True if a single number may simply be pushed to the store and counted. */
  get takesNumbers(): boolean {
    return this.#items === undefined && this.#elementShape.length === 0;
  }

  /** Counts elements that were pushed to the store: numbers, or rows like those before. */
  countPushed(count: number): void {
    this.#count += count;
  }

  /** Takes a closed list's numbers as an element, if that keeps this list regular. */
  absorb(child: ArrayFrame): boolean {
    if (this.#items !== undefined || child.#items !== undefined || child.isEmpty) return false;
    if (this.isEmpty && child.#elementShape.length + 1 < MAX_BLOCK_RANK) this.#elementShape = child.#shape();
    else if (this.isEmpty || !child.#hasShape(this.#elementShape)) return false;
    this.#count++;
    return true;
  }

  /** Takes any other element. */
  add(value: JsonValue): void {
    this.#items ??= this.#toItems();
    this.#items.push(value);
    this.#count++;
  }

  /** The value of the closed list. */
  close(): JsonValue {
    if (this.#items !== undefined || this.isEmpty) return this.#items ?? EMPTY_LIST;
    const shape = this.#shape();
    this.#store.budget.spend(SHAPE_BYTES + shape.length * DIMENSION_BYTES, oneMoreList);
    return new JsonNumbers(this.#store, this.#start, shape);
  }

  #shape(): readonly number[] {
    return [this.#count, ...this.#elementShape];
  }

  #hasShape(shape: readonly number[]): boolean {
    const inner = this.#elementShape;
    if (shape.length !== inner.length + 1 || shape[0] !== this.#count) return false;
    // A closure for each row of a request would be much garbage.
    for (let at = 0; at < inner.length; at++) if (inner[at] !== shape[at + 1]) return false;
    return true;
  }

  #toItems(): JsonValue[] {
    this.#store.budget.spend(CONTAINER_BYTES, oneMoreList);
    if (this.isEmpty) return [];
    this.#store.budget.spend(
      this.#count * VALUE_BYTES,
      () => `a list of ${this.#count} values that are not all numbers`,
    );
    const size = this.#elementShape.reduce((product, dim) => product * dim, 1);
    return Array.from(
      { length: this.#count },
      (_, index) => new JsonNumbers(this.#store, this.#start + index * size, this.#elementShape),
    );
  }
}

const DIMENSION_BYTES = 8;
const oneMoreList = () => "one more list";

const EMPTY_LIST: readonly JsonValue[] = Object.freeze([]);

/**
 * Members that {@link CONTAINER_BYTES} pays for; what each further one takes in
 * addition to its value; what one with a number for a name does.
 */
const MEMBERS_PAID = 4;
const MEMBER_BYTES = 32;
const INDEX_BYTES = 192;
/** Form of an index. */
const INDEX = /^\d{1,10}$/;
const oneMoreObject = () => "one more object";
const oneMoreMember = () => "one more member";

/** An object that is being read. */
export class ObjectFrame {
  readonly #members = createRecord<JsonValue>();
  readonly #budget: DecodeBudget;
  readonly #repeated: Set<string> | undefined;
  #key = "";
  #count = 0;
  #hasIndexes = false;
  #comesAgain = false;

  /** `repeated` gets each key that comes again; then the first value counts, else the last. */
  constructor(budget: DecodeBudget, repeated: Set<string> | undefined) {
    budget.spend(CONTAINER_BYTES, oneMoreObject);
    this.#budget = budget;
    this.#repeated = repeated;
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** The key of the value that {@link add} gets next. */
  expect(key: string): void {
    this.#key = key;
    this.#comesAgain = this.#repeated !== undefined && key in this.#members;
    this.#count++;
    if (this.#count > MEMBERS_PAID) this.#budget.spend(MEMBER_BYTES, oneMoreMember);
    if (isDigit(key.charCodeAt(0)) && INDEX.test(key)) this.#expectIndex(key);
  }

  add(value: JsonValue): void {
    if (this.#comesAgain) this.#repeated?.add(this.#key);
    else this.#members[this.#key] = value;
  }

  /**
   * V8 would make room for all indexes up to this one: 12 KB for `{"999":1}`. It does
   * not if a member once was a hidden one.
   */
  #expectIndex(key: string): void {
    this.#budget.spend(INDEX_BYTES, oneMoreMember);
    if (this.#hasIndexes) return;
    this.#hasIndexes = true;
    const hidden = { value: null, writable: true, configurable: true, enumerable: false };
    Object.defineProperty(this.#members, key, hidden);
    Object.defineProperty(this.#members, key, { enumerable: true });
  }

  /** The value of the closed object. */
  close(): JsonObject {
    return this.#members;
  }
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}
