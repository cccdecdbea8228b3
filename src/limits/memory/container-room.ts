import { openProcessCells } from "../process-cells.ts";
import { type FreeMemory, freeMemory } from "./free-memory.ts";
import { threadMemory } from "./thread-memory.ts";

const EVERY_MS = 1000;
/** Memory that a request takes at its peak, in parts of what it holds: it is copied on its way to a model. */
const PEAK = 2;

/** Layout of the cells: free memory in KiB and one more (0 = unlimited), and what requests held when it was read. */
const FREE = 0;
const HELD = 1;
const CELLS = 2;
const KIB = 1024;
const MAX_KIB = 2 ** 31 - 2;

/**
 * Free memory of the container, as far as it is known: the kernel kills a process that takes more, with all its
 * requests. There is one for all servers of a process: one thread reads it, and each that takes requests sees it.
 */
class ContainerRoom {
  readonly #cells: Int32Array;

  constructor(cells: Int32Array) {
    this.#cells = cells;
  }

  /** Free memory when it was last read, in bytes; infinite where there is no limit, or it is not read. */
  get freeBytes(): number {
    const kib = Atomics.load(this.#cells, FREE);
    return kib === 0 ? Number.POSITIVE_INFINITY : (kib - 1) * KIB;
  }

  /** True where requests may hold so many bytes more. */
  has(bytes: number): boolean {
    const free = this.freeBytes;
    if (free === Number.POSITIVE_INFINITY) return true;
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
    Atomics.store(this.#cells, FREE, free?.of === "this container" ? toKib(free.bytes) + 1 : 0);
  }
}

function toKib(bytes: number): number {
  return Math.min(Math.floor(bytes / KIB), MAX_KIB);
}

/** The process's one {@link ContainerRoom}; later threads share it. */
export const containerRoom = new ContainerRoom(openProcessCells("kserving.container-room", CELLS).cells);

/** Reads the free memory now, and then each second; returns how to stop. */
export function watchContainerRoom(read: () => Promise<FreeMemory | undefined> = freeMemory): () => void {
  const update = () => void read().then((free) => containerRoom.update(free));
  update();
  const timer = setInterval(update, EVERY_MS).unref();
  return () => {
    clearInterval(timer);
    containerRoom.update(undefined);
  };
}
