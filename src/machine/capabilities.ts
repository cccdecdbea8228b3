import { readText } from "./read-text.ts";

/** Rights of Linux's root, by their numbers in capabilities(7). */
export const CAPABILITIES = { CAP_SYS_PTRACE: 19, CAP_SYS_ADMIN: 21, CAP_SYS_NICE: 23, CAP_PERFMON: 38 } as const;

/** A right of Linux's root. */
export type Capability = keyof typeof CAPABILITIES;

/** Rights by which a process reads the memory of any other one. */
export const READING: readonly Capability[] = ["CAP_SYS_PTRACE", "CAP_SYS_ADMIN", "CAP_PERFMON"];

/** Checks if this thread has one of Linux's rights; false on other systems. */
export function hasCapability(...names: readonly Capability[]): boolean {
  if (process.platform !== "linux") return false;
  const [, text = "0"] = /^CapEff:\s*([\da-f]+)$/m.exec(readText("/proc/thread-self/status")) ?? [];
  const rights = BigInt(`0x${text}`);
  return names.some((name) => ((rights >> BigInt(CAPABILITIES[name])) & 1n) === 1n);
}
