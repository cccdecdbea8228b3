import { cpuMs } from "../../test/helpers/process-usage.ts";
import type { LoadGenerator } from "../load/load-generator.ts";
import type { LoadJob } from "../load/load-job.ts";

/** One turn of one server under load. */
export interface CpuTurn {
  /** Requests per second. */
  readonly rate: number;
  /** Processor time of the server per request, in microseconds. */
  readonly cpuUs: number;
  readonly p50Ms: number;
}

/**
 * Runs one job against the server that has this process, and measures what that cost
 * it; throws unless every answer was as expected.
 */
export async function cpuTurn(load: LoadGenerator, pid: number, job: LoadJob): Promise<CpuTurn> {
  const before = cpuMs(pid);
  const { requests, seconds, p50Ms } = await load.runClean(job);
  return { rate: requests / seconds, cpuUs: ((cpuMs(pid) - before) * 1000) / requests, p50Ms };
}
