import { readdirSync, readFileSync } from "node:fs";

/** Open files and sockets of the process, and how many it may have; undefined where the system does not tell. */
export interface DescriptorCount {
  readonly open: number;
  readonly max: number;
}

/** Counts them: by Linux alone, in a millisecond for some thousands. */
export function countDescriptors(): DescriptorCount | undefined {
  try {
    const max = Number(/^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "latin1"))?.[1]);
    return Number.isFinite(max) ? { open: readdirSync("/proc/self/fd").length, max } : undefined;
  } catch {
    // Also where there is no descriptor left to read them with.
    return undefined;
  }
}

/** Part of all descriptors that connections leave to files, models and threads. */
export const RESERVED_PART = 16;
/** Connections after which they are counted again, and the time for which a count near the limit is believed. */
const RECOUNT = { connections: 64, ms: 50 };

/** Descriptors that are left for connections, by counts that are made now and then. */
export class DescriptorReserve {
  readonly #count: typeof countDescriptors;
  #known: DescriptorCount | undefined;
  #countedAt = Number.NEGATIVE_INFINITY;
  /** Connections since the last count. */
  #since = 0;

  constructor(count = countDescriptors) {
    this.#count = count;
  }

  /** Counts a new connection; returns the number of descriptors where it takes one of the reserve. */
  take(): number | undefined {
    this.#since++;
    if (this.#isOld()) this.#countAgain();
    if (this.#known === undefined) return undefined;
    const { open, max } = this.#known;
    return open + this.#since > max - Math.ceil(max / RESERVED_PART) ? max : undefined;
  }

  #isOld(): boolean {
    if (this.#since >= RECOUNT.connections) return true;
    const { open, max } = this.#known ?? { open: 0, max: 0 };
    return open + this.#since > max / 2 && performance.now() - this.#countedAt > RECOUNT.ms;
  }

  #countAgain(): void {
    this.#known = this.#count();
    this.#countedAt = performance.now();
    this.#since = 0;
  }
}
