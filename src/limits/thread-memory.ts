import { getEnvironmentData, setEnvironmentData, threadId, type Worker } from "node:worker_threads";

/** The name under which threads inherit the cells. */
const KEY = "kserving.thread-memory";
/** Threads that may hold memory at the same time; more than a machine has use for. */
const MAX_THREADS = 256;
const KIB = 1024;
/** Other threads are told of changes of so many bytes: each small request makes several, which would cost it more than its data. */
const TELLING_BYTES = 64 * KIB;

/** Places of the cells: the limits of all servers together, what their requests hold, then an owner and what it holds for each thread. */
const LIMIT = 0;
const REQUESTS = 1;
const FIRST_THREAD = 2;
const CELLS_PER_THREAD = 2;
const CELLS = FIRST_THREAD + CELLS_PER_THREAD * MAX_THREADS;

/**
 * Memory that all threads of the process take in addition to what requests hold: decoded images, copies of inputs. It lies in
 * cells of KiB that every thread sees and writes its own of; what a thread held is given back when it ends, however it ends. It
 * is one for all servers of a process, under the sum of their limits: a thread does not know which of them it works for.
 */
class ThreadMemory {
  readonly #cells: Int32Array;
  #requestBytes = 0;
  /** Count that the other threads see. */
  #toldKib = 0;
  #own: number | undefined;
  #ownBytes = 0;

  constructor(cells: Int32Array) {
    this.#cells = cells;
  }

  /** The most that threads and requests may hold together, in bytes; infinite until there is a server. */
  get limitBytes(): number {
    return (Atomics.load(this.#cells, LIMIT) >>> 0 || Number.POSITIVE_INFINITY) * KIB;
  }

  /** Adds the limit of a server; returns how to take it away. */
  addLimit(bytes: number): () => void {
    const kib = Math.max(1, Math.min(toKib(bytes), MAX_LIMIT_KIB));
    Atomics.add(this.#cells, LIMIT, kib);
    return () => void Atomics.sub(this.#cells, LIMIT, kib);
  }

  /** True where so many bytes more stay within the limit. */
  hasRoom(bytes: number): boolean {
    return this.heldBytes + this.requestBytes + bytes <= this.limitBytes;
  }

  /** Bytes that threads hold. */
  get heldBytes(): number {
    let kib = 0;
    for (let at = FIRST_THREAD; at < CELLS && Atomics.load(this.#cells, at) !== 0; at += CELLS_PER_THREAD) {
      kib += Atomics.load(this.#cells, at + 1);
    }
    return kib * KIB;
  }

  /** Bytes that requests hold in addition. */
  get requestBytes(): number {
    return (Atomics.load(this.#cells, REQUESTS) - this.#toldKib) * KIB + this.#requestBytes;
  }

  /** Counts what requests hold, in or out; for the thread that receives them. */
  addRequestBytes(bytes: number): void {
    this.#requestBytes += bytes;
    if (Math.abs(this.#requestBytes - this.#toldKib * KIB) < TELLING_BYTES) return;
    const kib = toKib(this.#requestBytes);
    Atomics.add(this.#cells, REQUESTS, kib - this.#toldKib);
    this.#toldKib = kib;
  }

  /** Counts bytes of this thread, in or out, without asking whether there is room. */
  add(bytes: number): void {
    this.#own ??= this.#claim(threadId);
    this.#ownBytes += bytes;
    Atomics.store(this.#cells, this.#own + 1, toKib(this.#ownBytes));
  }

  /** Gives back what a thread held that has ended. */
  forget(ended: number): void {
    for (let at = FIRST_THREAD; at < CELLS; at += CELLS_PER_THREAD) {
      // The place stays taken, so that what lies behind it is still found; the next thread takes it over.
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
    // All threads beyond share the last place, and none of them gives it back for the others.
    return CELLS - CELLS_PER_THREAD;
  }
}

/** A limit of 512 GB: those of eight servers still fit a cell. */
const MAX_LIMIT_KIB = 2 ** 29 - 1;
/** An owner that has ended. */
const FREE = -1;

function toKib(bytes: number): number {
  return Math.ceil(bytes / KIB);
}

/** The process's one {@link ThreadMemory}; threads that start later see the same. */
export const threadMemory = open();

function open(): ThreadMemory {
  const inherited = getEnvironmentData(KEY);
  if (inherited instanceof SharedArrayBuffer) return new ThreadMemory(new Int32Array(inherited));
  const shared = new SharedArrayBuffer(CELLS * Int32Array.BYTES_PER_ELEMENT);
  setEnvironmentData(KEY, shared);
  const memory = new ThreadMemory(new Int32Array(shared));
  process.on("worker", (worker: Worker) => {
    // Afterwards it is -1.
    const { threadId: id } = worker;
    worker.once("exit", () => memory.forget(id));
  });
  return memory;
}
