import { readFileSync } from "node:fs";

/** The kernel counts processor time in hundredths of a second, whatever its clock. */
const TICK_MS = 10;

/** Processor time that a process has used in all its threads, in milliseconds; a supervisor with what it supervises. */
export function cpuMs(pid: number): number {
  return sumOf(pid, cpuMsOf);
}

/**
 * Memory of a process in megabytes, shared pages divided by those who share them; a supervisor with what it supervises.
 */
export function pssMb(pid: number): number {
  return sumOf(pid, pssMbOf);
}

/** The process that a supervisor has started, by its command line; the process itself where it has none. */
function servingPid(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
  const program = programOf(pid);
  return children.find((child) => program !== undefined && programOf(child) === program) ?? pid;
}

function programOf(pid: number): string | undefined {
  return readFileSync(`/proc/${pid}/cmdline`, "utf8")
    .split("\0")
    .find((word) => /bin\/[\w-]+\.cjs$/.test(word));
}

function sumOf(pid: number, read: (pid: number) => number): number {
  const serving = servingPid(pid);
  return read(pid) + (serving === pid ? 0 : read(serving));
}

function cpuMsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name may hold spaces; what follows its bracket begins with field 3.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

function pssMbOf(pid: number): number {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  return Number(/^Pss: +(\d+) kB/m.exec(rollup)?.[1]) / 1024;
}
