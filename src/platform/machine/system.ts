import { readFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";

/** The text of a file; empty if there is none, or if it cannot be read. */
export function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** Rights of Linux's root, by their numbers in capabilities(7). */
export const CAPABILITIES = { CAP_SYS_PTRACE: 19, CAP_SYS_ADMIN: 21, CAP_SYS_NICE: 23, CAP_PERFMON: 38 } as const;

/** A right of Linux's root. */
type Capability = keyof typeof CAPABILITIES;

/** Rights by which a process reads the memory of any other one. */
export const READING: readonly Capability[] = ["CAP_SYS_PTRACE", "CAP_SYS_ADMIN", "CAP_PERFMON"];

/** Checks if this thread has one of Linux's rights; false on other systems. */
export function hasCapability(...names: readonly Capability[]): boolean {
  if (process.platform !== "linux") return false;
  const [, text = "0"] = /^CapEff:\s*([\da-f]+)$/m.exec(readText("/proc/thread-self/status")) ?? [];
  const rights = BigInt(`0x${text}`);
  return names.some((name) => ((rights >> BigInt(CAPABILITIES[name])) & 1n) === 1n);
}

/**
 * The user's folder. That for temporary files if the user has none: containers run under ids that no file knows,
 * with the root folder, which they cannot write, as their home.
 */
export function homeFolder(): string {
  try {
    const home = homedir();
    return home === "/" ? tmpdir() : home;
  } catch {
    return tmpdir();
  }
}
