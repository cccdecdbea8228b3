import { atomicLoad, atomicStore } from "./own-built-ins.ts";

/** RpcRequest ids have so many bits, and begin anew after them. */
const ID_MASK = 0x3fffffff;

/**
 * Mark of the last request that a host began, which answers in the order of their ids, in memory that both share:
 * others know it even when the host is gone.
 */
export class StartMark {
  /** To be passed to the other thread. */
  readonly memory: SharedArrayBuffer;
  readonly #lastId: Int32Array;

  constructor(memory = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.memory = memory;
    this.#lastId = new Int32Array(memory);
  }

  /** To be called before anything is done for the request. */
  start(id: number): void {
    atomicStore(this.#lastId, 0, id);
  }

  /** Checks if a request that was sent was begun. */
  hasStarted(id: number): boolean {
    const ahead = (id - atomicLoad(this.#lastId, 0)) & ID_MASK;
    return ahead === 0 || ahead > ID_MASK / 2;
  }
}
