import { getEnvironmentData, setEnvironmentData, threadId, type Worker } from "node:worker_threads";

/** The name under which threads inherit the cells. */
const KEY = "kserving.image-memory";
/** Threads that may hold images at the same time; more than a machine has use for. */
const MAX_THREADS = 256;
const KIB = 1024;
/** Other threads are told of changes of so many bytes: each small request makes several, which would cost it more than its data. */
const TELLING_BYTES = 64 * KIB;

/** Places of the cells: the limit, what requests hold elsewhere, then an owner and what it holds for each thread. */
const LIMIT = 0;
const REQUESTS = 1;
const FIRST_THREAD = 2;
const CELLS_PER_THREAD = 2;
const CELLS = FIRST_THREAD + CELLS_PER_THREAD * MAX_THREADS;

/**
 * Memory that decoded images take in all threads of the process, in addition to what requests hold. It lies in cells of KiB that
 * every thread sees and writes its own of; what a thread held is given back when it ends, however it ends.
 */
class ImageMemory {
  readonly #cells: Int32Array;
  #requestBytes = 0;
  /** Count that the other threads see. */
  #toldBytes = 0;
  #own: number | undefined;
  #ownBytes = 0;

  constructor(cells: Int32Array) {
    this.#cells = cells;
  }

  /** The most that images and requests may hold together, in bytes; infinite until it is set. */
  get limitBytes(): number {
    return (Atomics.load(this.#cells, LIMIT) || Number.POSITIVE_INFINITY) * KIB;
  }

  /** The last server of the process decides. */
  set limitBytes(bytes: number) {
    Atomics.store(this.#cells, LIMIT, Math.max(1, Math.min(toKib(bytes), 0x7fffffff)));
  }

  /** Bytes of all decoded images. */
  get heldBytes(): number {
    let kib = 0;
    for (let at = FIRST_THREAD; at < CELLS && Atomics.load(this.#cells, at) !== 0; at += CELLS_PER_THREAD) {
      kib += Atomics.load(this.#cells, at + 1);
    }
    return kib * KIB;
  }

  /** Bytes that requests hold in addition, as the main thread counts them. */
  get requestBytes(): number {
    return Atomics.load(this.#cells, REQUESTS) * KIB;
  }

  /** Counts what requests hold, in or out; for the thread that receives them. */
  addRequestBytes(bytes: number): void {
    this.#requestBytes += bytes;
    if (Math.abs(this.#requestBytes - this.#toldBytes) < TELLING_BYTES) return;
    this.#toldBytes = this.#requestBytes;
    Atomics.store(this.#cells, REQUESTS, toKib(this.#requestBytes));
  }

  /** Counts bytes of images of this thread, in or out, without asking whether there is room. */
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

/** An owner that has ended. */
const FREE = -1;

function toKib(bytes: number): number {
  return Math.ceil(bytes / KIB);
}

/** The process's one {@link ImageMemory}; threads that start later see the same. */
export const imageMemory = open();

function open(): ImageMemory {
  const inherited = getEnvironmentData(KEY);
  if (inherited instanceof SharedArrayBuffer) return new ImageMemory(new Int32Array(inherited));
  const shared = new SharedArrayBuffer(CELLS * Int32Array.BYTES_PER_ELEMENT);
  setEnvironmentData(KEY, shared);
  const memory = new ImageMemory(new Int32Array(shared));
  process.on("worker", (worker: Worker) => {
    // Afterwards it is -1.
    const { threadId: id } = worker;
    worker.once("exit", () => memory.forget(id));
  });
  return memory;
}
