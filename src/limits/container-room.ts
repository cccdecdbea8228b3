import { type FreeMemory, freeMemory } from "./free-memory.ts";
import { threadMemory } from "./thread-memory.ts";

const EVERY_MS = 1000;
/** Memory that a request takes at its peak, in parts of what it holds: it is copied on its way to a model. */
const PEAK = 2;

/**
 * Free memory of the container, as far as it is known: the kernel kills a process that takes more, with all its
 * requests. There is one for all servers of a process.
 */
class ContainerRoom {
  #freeBytes = Number.POSITIVE_INFINITY;
  /** Bytes that requests held when the free memory was read. */
  #heldBytes = 0;

  /** Free memory when it was last read, in bytes; infinite where there is no limit, or it is not read. */
  get freeBytes(): number {
    return this.#freeBytes;
  }

  /** True where requests may hold so many bytes more. */
  has(bytes: number): boolean {
    if (this.#freeBytes === Number.POSITIVE_INFINITY) return true;
    const grown = Math.max(0, threadMemory.requestBytes - this.#heldBytes);
    // What requests held when the memory was read is gone from it already, but its copies may be still to come.
    const copies = (PEAK - 1) * Math.min(this.#heldBytes, threadMemory.requestBytes);
    return PEAK * (grown + bytes) + copies <= this.#freeBytes;
  }

  /** Takes over what was read; the free memory of a machine does not count, since it has swap and other programs to end. */
  update(free: FreeMemory | undefined): void {
    this.#freeBytes = free?.of === "this container" ? free.bytes : Number.POSITIVE_INFINITY;
    this.#heldBytes = threadMemory.requestBytes;
  }
}

/** The process's one {@link ContainerRoom}. */
export const containerRoom = new ContainerRoom();

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
