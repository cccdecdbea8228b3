import { atomicLoad, atomicStore } from "./own-built-ins.ts";

/** Number of bits in the ids of requests, which then begin again. */
const ID_MASK = 0x3fffffff;

/**
 * Mark of the last request that a host started, in shared memory that outlives the host. It answers requests in the
 * order of their ids.
 */
export class StartMark {
  /** To be passed to the other thread. */
  readonly memory: SharedArrayBuffer;
  readonly #lastId: Int32Array;

  constructor(memory = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.memory = memory;
    this.#lastId = new Int32Array(memory);
  }

  /** To be called before any work for the request. */
  start(id: number): void {
    atomicStore(this.#lastId, 0, id);
  }

  /** Checks if a sent request was started. */
  hasStarted(id: number): boolean {
    const ahead = (id - atomicLoad(this.#lastId, 0)) & ID_MASK;
    return ahead === 0 || ahead > ID_MASK / 2;
  }
}
