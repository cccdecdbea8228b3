import { quantile } from "../test/helpers/quantile.ts";

/** Sends one request and resolves once its answer has been checked; rejects when it is not the expected one. */
export type Send = () => Promise<void>;

/** Measurements of one round of load. */
export interface LoadResult {
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Keeps `inFlight` requests under way for `seconds`. */
export async function runLoad(
  send: Send,
  { inFlight, seconds }: { inFlight: number; seconds: number },
): Promise<LoadResult> {
  const latencies: number[] = [];
  const started = performance.now();
  const end = started + seconds * 1000;
  const loop = async () => {
    for (let now = performance.now(); now < end; ) {
      await send();
      const finished = performance.now();
      latencies.push(finished - now);
      now = finished;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, loop));
  const elapsed = (performance.now() - started) / 1000;
  latencies.sort((a, b) => a - b);
  return {
    requestsPerSecond: latencies.length / elapsed,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
  };
}

/** The middle of a list. */
export function median(values: readonly number[]): number {
  return quantile(
    [...values].sort((a, b) => a - b),
    0.5,
  );
}
