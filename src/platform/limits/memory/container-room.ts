import { openProcessCells, type ProcessCells } from "../process-cells.ts";
import { type FreeMemory, freeMemory } from "./free-memory.ts";
import { threadMemory } from "./thread-memory.ts";

const EVERY_MS = 1000;
/** Age at which a large request has the free memory read again: a busy machine may be late with the timer. */
const FRESH_MS = 100;
/**
 * Memory that a request takes at its peak, in parts of what it holds: it is copied on its way to a model, and each
 * thread keeps garbage of it until V8 collects that.
 */
const PEAK = 3;

/**
 * Layout of the cells: free memory in KiB and one more (0 = unlimited), what requests held when it was read, and that
 * time.
 */
const FREE = 0;
const HELD = 1;
const TIME = 2;
const CELLS = 3;
const KIB = 1024;
const MAX_KIB = 2 ** 31 - 2;
const MAX_TIME = 2 ** 31 - 1;

/**
 * Free memory of the container, as far as it is known: the kernel kills a process that takes more, with all its
 * requests. There is one for all servers of a process, which each thread that takes requests sees and reads again.
 */
class ContainerRoom {
  readonly #cells: Int32Array;
  #read: (() => FreeMemory | undefined) | undefined;

  constructor({ cells, isNew }: ProcessCells) {
    this.#cells = cells;
    if (!isNew) this.#read = freeMemory;
  }

  /** Free memory when it was last read, in bytes; infinite if there is no limit, or it is not read. */
  get freeBytes(): number {
    const kib = Atomics.load(this.#cells, FREE);
    return kib === 0 ? Number.POSITIVE_INFINITY : (kib - 1) * KIB;
  }

  /** True if requests may hold so many bytes more. */
  has(bytes: number): boolean {
    if (this.freeBytes === Number.POSITIVE_INFINITY) return true;
    if (this.#ageMs > FRESH_MS) this.#readAgain();
    const free = this.freeBytes;
    const [now, then] = [threadMemory.requestBytes, Atomics.load(this.#cells, HELD) * KIB];
    // What requests held when the memory was read is gone from it already, but its copies may be still to come.
    const copies = (PEAK - 1) * Math.min(then, now);
    return PEAK * (Math.max(0, now - then) + bytes) + copies <= free;
  }

  /**
   * Takes over what was read; the free memory of a machine does not count, since it has swap and other programs to end.
   */
  update(free: FreeMemory | undefined): void {
    Atomics.store(this.#cells, HELD, toKib(threadMemory.requestBytes));
    Atomics.store(this.#cells, TIME, nowMs());
    Atomics.store(this.#cells, FREE, free?.of === "this container" ? toKib(free.bytes) + 1 : 0);
  }

  /** Reads the free memory now and, for large requests, whenever it is old; undefined = no longer. */
  watch(read: (() => FreeMemory | undefined) | undefined): void {
    this.#read = read;
    this.update(read?.());
  }

  get #ageMs(): number {
    return (nowMs() - Atomics.load(this.#cells, TIME)) & MAX_TIME;
  }

  #readAgain(): void {
    if (this.#read !== undefined) this.update(this.#read());
  }
}

/** A time in milliseconds that fits into a cell, and begins again every 24 days. */
function nowMs(): number {
  return Date.now() & MAX_TIME;
}

function toKib(bytes: number): number {
  return Math.min(Math.floor(bytes / KIB), MAX_KIB);
}

/** The process's one {@link ContainerRoom}; later threads share it. */
export const containerRoom = new ContainerRoom(openProcessCells("kserving.container-room", CELLS));

/** Reads the free memory now, then each second, and for large requests more often; returns how to stop. */
export function watchContainerRoom(read: () => FreeMemory | undefined = freeMemory): () => void {
  containerRoom.watch(read);
  const timer = setInterval(() => containerRoom.update(read()), EVERY_MS).unref();
  return () => {
    clearInterval(timer);
    containerRoom.watch(undefined);
  };
}
