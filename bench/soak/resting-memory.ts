import { setTimeout as wait } from "node:timers/promises";
import { pssMb } from "../../test/helpers/process-usage.ts";

/** More than the server needs to replace its hook threads, and for the C library to return free memory. */
const RENEW_MS = 10_000;
const RETURN_SECONDS = 15;
/** Growth from which on memory grows, if it is as large a part of it, too. */
const MIN_GROWTH_MB = 20;
const MIN_GROWTH = 0.05;

/**
 * Memory of a server that has nothing to do, in megabytes: with new hook threads, without
 * garbage (instrument.mjs), the least of many readings.
 */
export async function restingMb(pid: number): Promise<number> {
  process.kill(pid, "SIGHUP");
  await wait(RENEW_MS);
  process.kill(pid, "SIGUSR2");
  let least = Number.POSITIVE_INFINITY;
  for (let second = 0; second < RETURN_SECONDS; second++) {
    await wait(1000);
    least = Math.min(least, pssMb(pid));
  }
  return least;
}

/**
 * Checks if memory grows: at the last rest there is more than at any before. Under load garbage comes and goes in each
 * thread's heap over minutes, and is up to half of the memory. The first rest has to be late
 * enough for code and pools to be there.
 */
export function hasGrown(rests: readonly number[]): boolean {
  const most = Math.max(...rests.slice(0, -1));
  const growth = (rests.at(-1) as number) - most;
  return growth > MIN_GROWTH_MB && growth > most * MIN_GROWTH;
}
