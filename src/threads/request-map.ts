import { OwnMap } from "./own-built-ins.ts";

/** Requests that are under way in most cases at most; a power of two. */
const PLACES = 256;
const FREE = -1;

/**
 * Values by the ids of requests, which come in order. Most have a place of their own in a list of fixed length: a Map through which every
 * request passes leaves its old tables to the collector, which keeps what they name alive until it collects the whole heap.
 */
export class RequestMap<Value> {
  readonly #ids: number[] = [];
  readonly #values: (Value | undefined)[] = [];
  /** Values whose place another request has, which has been under way for long. */
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

  /** Adds the value of a request that has none. */
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

  /** Returns false where there is no such request. */
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
