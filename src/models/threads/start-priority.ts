import { constants, getPriority, setPriority } from "node:os";
import { hasCapability } from "../../platform/machine/system.ts";

/**
 * Lets other threads go before this one, until the returned function is called: the serving ones, while code is loaded
 * here. Does nothing if the priority could not be raised again, as without the right to, or if it is the whole
 * process's, as everywhere but on Linux.
 */
export function lowerPriority(): () => void {
  if (!hasCapability("CAP_SYS_NICE")) return () => {};
  try {
    const before = getPriority(0);
    setPriority(0, Math.max(before, constants.priority.PRIORITY_LOW));
    return () => setPriority(0, before);
  } catch {
    return () => {};
  }
}
