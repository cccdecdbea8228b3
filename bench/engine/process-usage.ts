import { readFileSync } from "node:fs";

/** The kernel counts processor time in hundredths of a second, whatever its clock. */
const TICK_MS = 10;

/** Processor time that a process has used in all its threads, in milliseconds. */
export function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name may hold spaces; what follows its bracket begins with field 3.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** Memory of a process in megabytes, shared pages divided by those who share them. */
export function pssMb(pid: number): number {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  return Number(/^Pss: +(\d+) kB/m.exec(rollup)?.[1]) / 1024;
}
