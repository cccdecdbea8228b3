import { OwnMap } from "./own-built-ins.ts";

/** Usual maximum of open requests; a power of two. */
const PLACES = 256;
const FREE = -1;

/**
 * Values by the ids of requests, which increase. Most have a slot in a list of fixed length: a Map through which every
 * request passes leaves its old tables to the garbage collector, and these keep their contents alive until the whole
 * heap is collected.
 */
export class RequestMap<Value> {
  readonly #ids: number[] = [];
  readonly #values: (Value | undefined)[] = [];
  /** Values of requests that have been open for so long that another request has their slot. */
  readonly #others = new OwnMap<number, Value>();
  #placed = 0;

  constructor() {
    for (let place = 0; place < PLACES; place++) {
      this.#ids[place] = FREE;
      this.#values[place] = undefined;
    }
  }

  get size(): number {
    return this.#placed + this.#others.size;
  }

  get(id: number): Value | undefined {
    const place = id & (PLACES - 1);
    return this.#ids[place] === id ? this.#values[place] : this.#others.get(id);
  }

  /** Adds the value of a new request. */
  set(id: number, value: Value): void {
    const place = id & (PLACES - 1);
    if (this.#ids[place] !== FREE) {
      this.#others.set(id, value);
      return;
    }
    this.#ids[place] = id;
    this.#values[place] = value;
    this.#placed++;
  }

  /** Returns false if there is no such request. */
  delete(id: number): boolean {
    const place = id & (PLACES - 1);
    if (this.#ids[place] !== id) return this.#others.delete(id);
    this.#ids[place] = FREE;
    this.#values[place] = undefined;
    this.#placed--;
    return true;
  }

  /** Takes all values out, and calls back with each. */
  takeAll(take: (value: Value, id: number) => void): void {
    for (let place = 0; place < PLACES; place++) {
      const id = this.#ids[place]!;
      if (id === FREE) continue;
      const value = this.#values[place] as Value;
      this.delete(id);
      take(value, id);
    }
    this.#others.forEach((value, id) => {
      if (this.#others.delete(id)) take(value, id);
    });
  }
}
