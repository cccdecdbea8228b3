import { join } from "node:path";
import { controlGroups } from "./control-groups.ts";
import { readText } from "./read-text.ts";

const FILES = { 1: "memory.limit_in_bytes", 2: "memory.max" } as const;

/**
 * Memory that the container may use at most, in bytes: the least limit of its control groups below that of the machine.
 * Undefined where there is none. `root` is the folder of proc and sys.
 */
export function containerMemory(root = "/"): number | undefined {
  const limits = controlGroups("memory", root).map(({ version, folder }) =>
    Number.parseInt(readText(join(folder, FILES[version])), 10),
  );
  const least = Math.min(...limits.filter(Number.isFinite));
  // Without a limit version 1 has the largest number that it can.
  return least < machineMemory(root) ? least : undefined;
}

function machineMemory(root: string): number {
  const total = /^MemTotal:\s+(\d+) kB$/m.exec(readText(join(root, "proc/meminfo")))?.[1];
  return total === undefined ? 0 : Number(total) * 1024;
}
