import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { readText } from "./system.ts";

const FILES = { 1: "memory.limit_in_bytes", 2: "memory.max" } as const;

/**
 * Memory that the container may use at most, in bytes: the least limit of its control groups below that of the machine.
 * Undefined if there is none. `root` is the folder of proc and sys.
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

let found: number | undefined;

/** Processors that this process may keep busy: those of the machine, or of its container if that has fewer. */
export function processors(): number {
  found ??= Math.min(availableParallelism(), containerProcessors() ?? Number.POSITIVE_INFINITY);
  return found;
}

/**
 * Processors of the container by its control groups, at least 1; undefined if they have no limit. A part of one does
 * not count, as newer versions of Node.js have it: the kernel would stop all threads for the rest of each period.
 * `root` is the folder of proc and sys.
 */
export function containerProcessors(root = "/"): number | undefined {
  const shares = controlGroups("cpu", root).map(shareOf);
  const least = Math.min(...shares.filter((share) => share > 0));
  return Number.isFinite(least) ? Math.max(1, Math.floor(least)) : undefined;
}

/** Not a number if the group has no limit, negative if it says so in version 1. */
function shareOf({ version, folder }: ControlGroup): number {
  const read = (file: string) => readText(join(folder, file));
  const [quota, period] =
    version === 2 ? read("cpu.max").split(" ") : [read("cpu.cfs_quota_us"), read("cpu.cfs_period_us")];
  return Number.parseInt(quota ?? "", 10) / Number.parseInt(period ?? "", 10);
}

/** A resource that groups limit. */
type Controller = "memory" | "cpu";

/** A control group of this process, by the version of the kernel's interface. */
export interface ControlGroup {
  readonly version: 1 | 2;
  readonly folder: string;
}

/** Folders that hold the groups of version 1, the first of them that exist. */
const V1_MOUNTS: Readonly<Record<Controller, readonly string[]>> = { memory: ["memory"], cpu: ["cpu", "cpu,cpuacct"] };

/**
 * The groups of this process that may limit a resource, and their parents, in both versions. They are those of the
 * container's own view, if it has one. `root` is the folder of proc and sys.
 */
export function controlGroups(controller: Controller, root = "/"): readonly ControlGroup[] {
  const lines = readText(join(root, "proc/self/cgroup")).split("\n");
  const pathOf = (pattern: RegExp) => lines.map((line) => pattern.exec(line)?.[1]).find((path) => path !== undefined);
  const mount = join(root, "sys/fs/cgroup");
  const version2 = withParents(pathOf(/^0::(.*)$/) ?? "/").map((path) => join(mount, path));
  const own = withParents(pathOf(new RegExp(`^\\d+:(?:[^:]*,)?${controller}(?:,[^:]*)?:(.*)$`)) ?? "/");
  const version1 = V1_MOUNTS[controller].flatMap((name) => own.map((path) => join(mount, name, path)));
  return [
    ...version2.map((folder) => ({ version: 2, folder }) as const),
    ...version1.map((folder) => ({ version: 1, folder }) as const),
  ];
}

function withParents(path: string): string[] {
  const parent = dirname(path);
  return parent === path || path === "" ? ["/"] : [path, ...withParents(parent)];
}
