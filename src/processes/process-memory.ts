import { readFile } from "node:fs/promises";

/**
 * Memory of a process, including its share of shared memory, or all of that where the process is hidden from this one;
 * undefined where the system does not report it, which is everywhere but on Linux.
 */
export async function processMemory(pid: number | undefined): Promise<number | undefined> {
  const text = await read(pid, "smaps_rollup").catch(() => read(pid, "status").catch(() => ""));
  const kilobytes = /^(?:Pss|VmRSS):\s+(\d+) kB$/m.exec(text)?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}

function read(pid: number | undefined, name: string): Promise<string> {
  return readFile(`/proc/${pid}/${name}`, "utf8");
}
