import { atomicLoad, atomicStore } from "./own-built-ins.ts";

/** Question ids have so many bits, and begin anew after them. */
const ID_MASK = 0x3fffffff;

/**
 * Where a host that answers questions in the order of their ids marks the last one it began, so that others know it even when the host is gone: in memory that both share.
 */
export class StartMark {
  /** To be passed to the other thread. */
  readonly memory: SharedArrayBuffer;
  readonly #lastId: Int32Array;

  constructor(memory = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.memory = memory;
    this.#lastId = new Int32Array(memory);
  }

  /** To be called before anything is done for the question. */
  start(id: number): void {
    atomicStore(this.#lastId, 0, id);
  }

  /** Whether a question that was asked was begun. */
  hasStarted(id: number): boolean {
    const ahead = (id - atomicLoad(this.#lastId, 0)) & ID_MASK;
    return ahead === 0 || ahead > ID_MASK / 2;
  }
}
