import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Free memory. */
export interface FreeMemory {
  readonly bytes: number;
  /** The machine or the control group that has the least. */
  readonly of: "this machine" | "this container";
}

/** Files of the two versions of control groups; they count the file cache as used, which is released when memory is needed. */
const GENERATIONS = [
  { mount: "sys/fs/cgroup", limit: "memory.max", used: "memory.current", cache: /^(?:in)?active_file (\d+)/gm },
  {
    mount: "sys/fs/cgroup/memory",
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    cache: /^total_(?:in)?active_file (\d+)/gm,
  },
] as const;

/**
 * Memory that this process may still use: the free memory of the machine or of its control group, whichever is less.
 * Undefined where the system does not report it, which is everywhere but on Linux. `root` is the folder of proc and
 * sys.
 */
export async function freeMemory(root = "/"): Promise<FreeMemory | undefined> {
  const available = /^MemAvailable:\s+(\d+) kB$/m.exec(await read(join(root, "proc/meminfo")))?.[1];
  if (available === undefined) return undefined;
  const machine = Number(available) * 1024;
  const left = await Promise.all((await groupFolders(root)).map(leftIn));
  const bytes = Math.max(0, Math.min(machine, ...left));
  return { bytes, of: bytes < machine ? "this container" : "this machine" };
}

interface Group {
  readonly generation: (typeof GENERATIONS)[number];
  readonly folder: string;
}

/** The process's groups and their parents, each of which may have a limit. */
async function groupFolders(root: string): Promise<Group[]> {
  const lines = (await read(join(root, "proc/self/cgroup"))).split("\n");
  const pathOf = (pattern: RegExp) => lines.map((line) => pattern.exec(line)?.[1]).find((path) => path !== undefined);
  const paths = [pathOf(/^0::(.*)$/), pathOf(/^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/)];
  return GENERATIONS.flatMap((generation, index) => {
    const mount = join(root, generation.mount);
    const folders = withParents(paths[index] ?? "/");
    return folders.map((folder) => ({ generation, folder: join(mount, folder) }));
  });
}

function withParents(path: string): string[] {
  const parent = dirname(path);
  return parent === path || path === "" ? ["/"] : [path, ...withParents(parent)];
}

/** Infinite where there is no limit, or the group is not visible, as in some containers. */
async function leftIn({ generation: { limit, used, cache }, folder }: Group): Promise<number> {
  const most = Number.parseInt(await read(join(folder, limit)), 10);
  if (!Number.isFinite(most)) return Number.POSITIVE_INFINITY;
  const taken = Number.parseInt(await read(join(folder, used)), 10);
  const stat = await read(join(folder, "memory.stat"));
  const cached = Array.from(stat.matchAll(cache), ([, bytes]) => Number(bytes)).reduce((sum, each) => sum + each, 0);
  return Number.isFinite(taken) ? most - taken + cached : Number.POSITIVE_INFINITY;
}

async function read(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}
