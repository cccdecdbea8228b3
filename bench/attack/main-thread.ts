import { openSync, readSync } from "node:fs";

const NS_PER_MS = 1e6;
const scratch = Buffer.alloc(128);

/** The kernel's statistics of a thread since its start, in milliseconds; zeros where it has none. */
export interface SchedulerTimes {
  /** Time that it computed. */
  readonly busyMs: number;
  /** Time that it was ready to but had no core: a busy machine adds this to every wait. */
  readonly delayMs: number;
}

/** The main thread of a process, which has the process's id. */
export class MainThread {
  readonly #file: number | undefined;
  #last: SchedulerTimes = { busyMs: 0, delayMs: 0 };

  constructor(pid: number) {
    this.#file = openSchedulerFile(pid);
  }

  /** The figures now; the last ones once the process has ended. */
  times(): SchedulerTimes {
    if (this.#file === undefined) return this.#last;
    try {
      const text = scratch.toString("latin1", 0, readSync(this.#file, scratch, 0, scratch.length, 0));
      const [busyNs, delayNs] = text.split(" ");
      this.#last = { busyMs: Number(busyNs) / NS_PER_MS, delayMs: Number(delayNs) / NS_PER_MS };
    } catch {
      // It has ended.
    }
    return this.#last;
  }
}

function openSchedulerFile(pid: number): number | undefined {
  try {
    return openSync(`/proc/${pid}/task/${pid}/schedstat`, "r");
  } catch {
    return undefined;
  }
}
