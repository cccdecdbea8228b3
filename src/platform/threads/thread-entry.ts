import { writeFileSync } from "node:fs";

/** The built file of a thread's entry, such as `models/threads/model-thread-entry`: threads load no TypeScript. */
export function threadEntry(name: string): URL {
  return new URL(`../../../dist/${name}.js`, import.meta.url);
}

/** Names this thread for `top -H`, `perf` and `/proc/PID/task/TID/comm`, on Linux; 15 characters count. */
export function nameThread(name: string): void {
  try {
    writeFileSync("/proc/thread-self/comm", name);
  } catch {
    // It has the program's name then.
  }
}
