import type { Pointer } from "../../../native/bind-functions.ts";

/**
 * Places in the memory: the session's address as two halves of one, its users, and whether a thread is changing these.
 */
const ADDRESS = 0;
const USERS = 2;
const LOCK = 3;

/** A session that the copies of a model in several threads have in common, so that the process has its weights once. */
export class SharedSession {
  readonly #address: BigUint64Array;
  readonly #cells: Int32Array;

  /** `memory` is what the copies share, zeros at first. */
  constructor(memory: SharedArrayBuffer) {
    this.#address = new BigUint64Array(memory, 0, 1);
    this.#cells = new Int32Array(memory);
  }

  /** The session's address; the first user loads it, while others wait. */
  acquire(load: () => Pointer): Pointer {
    return this.#locked(() => {
      const users = this.#cells[USERS]!;
      if (users === 0) this.#address[ADDRESS] = load();
      this.#cells[USERS] = users + 1;
      return this.#address[ADDRESS]!;
    });
  }

  /** Ends one user's use; the last one frees the session. */
  release(free: (session: Pointer) => void): void {
    this.#locked(() => {
      const users = this.#cells[USERS]! - 1;
      this.#cells[USERS] = users;
      if (users === 0) free(this.#address[ADDRESS]!);
    });
  }

  #locked<Result>(work: () => Result): Result {
    while (Atomics.compareExchange(this.#cells, LOCK, 0, 1) !== 0) Atomics.wait(this.#cells, LOCK, 1);
    try {
      return work();
    } finally {
      Atomics.store(this.#cells, LOCK, 0);
      Atomics.notify(this.#cells, LOCK, 1);
    }
  }
}
