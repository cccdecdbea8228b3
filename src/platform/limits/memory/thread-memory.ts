import { threadId, type Worker } from "node:worker_threads";
import { openProcessCells } from "../process-cells.ts";

/** Maximum number of threads that hold memory at the same time; above the needs of any machine. */
const MAX_THREADS = 256;
const KIB = 1024;
/**
 * Changes are shared with other threads in steps of so many bytes: each small request causes several, which would cost
 * it more than its data.
 */
const REPORT_STEP_BYTES = 64 * KIB;

/**
 * Layout of the cells: the limits of all servers together, the memory of their requests, then an owner and its memory
 * for each thread.
 */
const LIMIT = 0;
const REQUESTS = 1;
const FIRST_THREAD = 2;
const CELLS_PER_THREAD = 2;
const CELLS = FIRST_THREAD + CELLS_PER_THREAD * MAX_THREADS;

/**
 * Memory of all threads of the process in addition to that of requests: decoded images, copies of inputs. It is kept in
 * cells of KiB that every thread reads, and of which it writes its own. A thread's memory is released when it ends, for
 * any reason. There is one for all servers of a process, with the sum of their limits: a thread does not know for which
 * server it works.
 */
class ThreadMemory {
  readonly #cells: Int32Array;
  #requestBytes = 0;
  /** The thread's count as other threads see it. */
  #reportedKib = 0;
  #own: number | undefined;
  #ownBytes = 0;

  constructor(cells: Int32Array) {
    this.#cells = cells;
  }

  /** Maximum that threads and requests may hold together, in bytes; infinite until there is a server. */
  get limitBytes(): number {
    return (Atomics.load(this.#cells, LIMIT) >>> 0 || Number.POSITIVE_INFINITY) * KIB;
  }

  /** Adds the limit of a server; returns a function that subtracts it. */
  addLimit(bytes: number): () => void {
    const kib = Math.max(1, Math.min(toKib(bytes), MAX_LIMIT_KIB));
    Atomics.add(this.#cells, LIMIT, kib);
    return () => void Atomics.sub(this.#cells, LIMIT, kib);
  }

  /** True if this many more bytes stay within the limit. */
  hasRoom(bytes: number): boolean {
    return this.heldBytes + this.requestBytes + bytes <= this.limitBytes;
  }

  /** Number of bytes that threads hold. */
  get heldBytes(): number {
    let kib = 0;
    for (let at = FIRST_THREAD; at < CELLS && Atomics.load(this.#cells, at) !== 0; at += CELLS_PER_THREAD) {
      kib += Atomics.load(this.#cells, at + 1);
    }
    return kib * KIB;
  }

  /** Number of bytes that requests hold in addition. */
  get requestBytes(): number {
    return (Atomics.load(this.#cells, REQUESTS) - this.#reportedKib) * KIB + this.#requestBytes;
  }

  /** Adds bytes of requests, or subtracts negative ones; for the thread that receives them. */
  addRequestBytes(bytes: number): void {
    this.#requestBytes += bytes;
    if (Math.abs(this.#requestBytes - this.#reportedKib * KIB) < REPORT_STEP_BYTES) return;
    const kib = toKib(this.#requestBytes);
    Atomics.add(this.#cells, REQUESTS, kib - this.#reportedKib);
    this.#reportedKib = kib;
  }

  /** Adds bytes of this thread, or subtracts negative ones, without a check if there is room. */
  add(bytes: number): void {
    this.#own ??= this.#claim(threadId);
    this.#ownBytes += bytes;
    Atomics.store(this.#cells, this.#own + 1, toKib(this.#ownBytes));
  }

  /** Releases the memory of an ended thread. */
  forget(ended: number): void {
    for (let at = FIRST_THREAD; at < CELLS; at += CELLS_PER_THREAD) {
      // The place stays occupied, so that later ones are still found; the next thread reuses it.
      if (Atomics.load(this.#cells, at) === ended + 1) {
        Atomics.store(this.#cells, at + 1, 0);
        Atomics.store(this.#cells, at, FREE);
      }
    }
  }

  #claim(id: number): number {
    for (let at = FIRST_THREAD; at < CELLS; at += CELLS_PER_THREAD) {
      for (const free of [FREE, 0]) {
        if (Atomics.compareExchange(this.#cells, at, free, id + 1) === free) return at;
      }
    }
    // All further threads share the last place, and none of them releases the memory of the others.
    return CELLS - CELLS_PER_THREAD;
  }
}

/** Limits are cut at 512 GB: the sum for eight servers still fits into a cell. */
const MAX_LIMIT_KIB = 2 ** 29 - 1;
/** Mark of an ended owner. */
const FREE = -1;

function toKib(bytes: number): number {
  return Math.ceil(bytes / KIB);
}

/** The process's one {@link ThreadMemory}; later threads share it. */
export const threadMemory = open();

function open(): ThreadMemory {
  const { cells, isNew } = openProcessCells("kserving.thread-memory", CELLS);
  const memory = new ThreadMemory(cells);
  if (!isNew) return memory;
  process.on("worker", (worker: Worker) => {
    // Afterwards the thread's id is -1.
    const { threadId: id } = worker;
    worker.once("exit", () => memory.forget(id));
  });
  return memory;
}
