import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";

const NS_PER_MS = 1e6;
const scratch = Buffer.alloc(128);

/** The kernel's statistics of a thread since its start, in milliseconds; zeros where it has none. */
export interface SchedulerTimes {
  /** Time that it computed. */
  readonly busyMs: number;
  /** Time that it was ready to but had no core: a busy machine adds this to every wait. */
  readonly delayMs: number;
}

/** A thread of a process. The main thread has the process's id. */
class ProcessThread {
  #file: number | undefined;
  #last: SchedulerTimes = { busyMs: 0, delayMs: 0 };

  constructor(pid: number, id: number | string) {
    this.#file = openSchedulerFile(pid, id);
  }

  /** The figures now; the last ones once the thread has ended. */
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

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }
}

/** The threads of a process that connections wait for: its main thread, and those that listen. */
export class ConnectionThreads {
  readonly #threads: readonly ProcessThread[];

  constructor(pid: number) {
    this.#threads = [pid, ...listenersOf(pid)].map((id) => new ProcessThread(pid, id));
  }

  times(): readonly SchedulerTimes[] {
    return this.#threads.map((thread) => thread.times());
  }

  close(): void {
    for (const thread of this.#threads) thread.close();
  }
}

/** The most that one thread has computed, and has waited for a core, between two readings. */
export function mostOf(before: readonly SchedulerTimes[], after: readonly SchedulerTimes[]): SchedulerTimes {
  let [busyMs, delayMs] = [0, 0];
  for (const [index, now] of after.entries()) {
    const { busyMs: busy = 0, delayMs: delay = 0 } = before[index] ?? {};
    busyMs = Math.max(busyMs, now.busyMs - busy);
    delayMs = Math.max(delayMs, now.delayMs - delay);
  }
  return { busyMs, delayMs };
}

/** By the name that the server has given to each of them. */
function listenersOf(pid: number): readonly string[] {
  const tasks = `/proc/${pid}/task`;
  return existsSync(tasks) ? readdirSync(tasks).filter((id) => hasName(`${tasks}/${id}/comm`, "listener")) : [];
}

function hasName(path: string, name: string): boolean {
  try {
    return readFileSync(path, "latin1").trim() === name;
  } catch {
    // It has ended.
    return false;
  }
}

function openSchedulerFile(pid: number, id: number | string): number | undefined {
  try {
    return openSync(`/proc/${pid}/task/${id}/schedstat`, "r");
  } catch {
    return undefined;
  }
}
