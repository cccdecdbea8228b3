import { availableParallelism } from "node:os";

/** Threads that libuv's pool has unless UV_THREADPOOL_SIZE says otherwise. */
const DEFAULT_POOL_SIZE = 4;

/** Number of long calls that may run at once in libuv's pool: one a core, and no more than the pool has threads. */
export function maxAsyncCalls(): number {
  const poolSize = Number(process.env.UV_THREADPOOL_SIZE) || DEFAULT_POOL_SIZE;
  return Math.max(1, Math.min(availableParallelism(), poolSize));
}
