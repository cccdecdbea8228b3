import { join } from "node:path";
import { type ControlGroup, controlGroups } from "../../machine/container.ts";
import { readText } from "../../machine/system.ts";

/** Free memory. */
export interface FreeMemory {
  readonly bytes: number;
  /** The machine or the control group that has the least. */
  readonly of: "this machine" | "this container";
}

/**
 * Files of the two versions of control groups; they count the file cache as used,
 * which is released when memory is needed.
 */
const FILES = {
  1: {
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    cache: /^total_(?:in)?active_file (\d+)/gm,
  },
  2: { limit: "memory.max", used: "memory.current", cache: /^(?:in)?active_file (\d+)/gm },
} as const;

/**
 * Memory that this process may still use: the free memory of the machine or of its control group, whichever is less.
 * Undefined if the system does not report it, which is everywhere but on Linux. `root` is the folder of proc and
 * sys.
 */
export function freeMemory(root = "/"): FreeMemory | undefined {
  const available = /^MemAvailable:\s+(\d+) kB$/m.exec(readText(join(root, "proc/meminfo")))?.[1];
  if (available === undefined) return undefined;
  const machine = Number(available) * 1024;
  const left = controlGroups("memory", root).map(leftIn);
  const bytes = Math.max(0, Math.min(machine, ...left));
  return { bytes, of: bytes < machine ? "this container" : "this machine" };
}

/** Infinite if there is no limit, or the group is not visible, as in some containers. */
function leftIn({ version, folder }: ControlGroup): number {
  const { limit, used, cache } = FILES[version];
  const most = Number.parseInt(readText(join(folder, limit)), 10);
  if (!Number.isFinite(most)) return Number.POSITIVE_INFINITY;
  const taken = Number.parseInt(readText(join(folder, used)), 10);
  const stat = readText(join(folder, "memory.stat"));
  const cached = Array.from(stat.matchAll(cache), ([, bytes]) => Number(bytes)).reduce((sum, each) => sum + each, 0);
  return Number.isFinite(taken) ? most - taken + cached : Number.POSITIVE_INFINITY;
}
