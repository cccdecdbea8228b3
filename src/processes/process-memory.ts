import { readFile } from "node:fs/promises";

/**
 * Memory of a process, including its share of shared memory; undefined where the system does not report it, which is
 * everywhere but on Linux.
 */
export async function processMemory(pid: number | undefined): Promise<number | undefined> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, "utf8").catch(() => "");
  const kilobytes = /^Pss:\s+(\d+) kB$/m.exec(text)?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}
