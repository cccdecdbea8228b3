import { readFileSync } from "node:fs";
import { constants, getPriority, setPriority } from "node:os";

/** CAP_SYS_NICE of Linux. */
const MAY_RAISE = 1n << 23n;

/**
 * Lets other threads go before this one, until what is returned is called: the serving ones, while code is loaded here.
 * Does nothing where the priority could not be raised again, as without the right to, or where it is the whole
 * process's, as everywhere but on Linux.
 */
export function lowerPriority(): () => void {
  if (process.platform !== "linux" || !mayRaise()) return () => {};
  try {
    const before = getPriority(0);
    setPriority(0, Math.max(before, constants.priority.PRIORITY_LOW));
    return () => setPriority(0, before);
  } catch {
    return () => {};
  }
}

function mayRaise(): boolean {
  try {
    const [, rights] = /^CapEff:\s*([\da-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
    return rights !== undefined && (BigInt(`0x${rights}`) & MAY_RAISE) !== 0n;
  } catch {
    return false;
  }
}
