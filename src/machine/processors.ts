import { availableParallelism } from "node:os";
import { join } from "node:path";
import { type ControlGroup, controlGroups } from "./control-groups.ts";
import { readText } from "./read-text.ts";

let found: number | undefined;

/** Processors that this process may keep busy: those of the machine, or of its container where that has fewer. */
export function processors(): number {
  found ??= Math.min(availableParallelism(), containerProcessors() ?? Number.POSITIVE_INFINITY);
  return found;
}

/**
 * Processors of the container by its control groups, at least 1; undefined where they have no limit. A part of one does
 * not count, as newer versions of Node.js have it: the kernel would stop all threads for the rest of each period.
 * `root` is the folder of proc and sys.
 */
export function containerProcessors(root = "/"): number | undefined {
  const shares = controlGroups("cpu", root).map(shareOf);
  const least = Math.min(...shares.filter((share) => share > 0));
  return Number.isFinite(least) ? Math.max(1, Math.floor(least)) : undefined;
}

/** Not a number where the group has no limit, negative where it says so in version 1. */
function shareOf({ version, folder }: ControlGroup): number {
  const read = (file: string) => readText(join(folder, file));
  const [quota, period] =
    version === 2 ? read("cpu.max").split(" ") : [read("cpu.cfs_quota_us"), read("cpu.cfs_period_us")];
  return Number.parseInt(quota ?? "", 10) / Number.parseInt(period ?? "", 10);
}
