import { dirname, join } from "node:path";
import { readText } from "./read-text.ts";

/** A resource that groups limit. */
export type Controller = "memory" | "cpu";

/** A control group of this process, by the version of the kernel's interface. */
export interface ControlGroup {
  readonly version: 1 | 2;
  readonly folder: string;
}

/** Folders that hold the groups of version 1, the first of them that exist. */
const V1_MOUNTS: Readonly<Record<Controller, readonly string[]>> = { memory: ["memory"], cpu: ["cpu", "cpu,cpuacct"] };

/**
 * The groups of this process that may limit a resource, and their parents, in both versions. They are those of the
 * container's own view, where it has one. `root` is the folder of proc and sys.
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
