import { processors } from "../machine/processors.ts";

/** Default number of threads in libuv's pool, without UV_THREADPOOL_SIZE. */
const DEFAULT_POOL_SIZE = 4;

/** Maximum number of long calls in libuv's pool: one per core, and at most one per thread of the pool. */
export function maxAsyncCalls(): number {
  const poolSize = Number(process.env.UV_THREADPOOL_SIZE) || DEFAULT_POOL_SIZE;
  return Math.max(1, Math.min(processors(), poolSize));
}
