import type { RequestMetrics } from "../observability/metrics/request-metrics.ts";
import type { LocalService } from "../serving/local-service.ts";
import type { ModelManager } from "../serving/model-manager.ts";

/** Milliseconds for which versions that have ended are gathered. */
const GATHER_MS = 10_000;

/** Counts by version. */
interface Counts {
  readonly service: LocalService;
  /** Absent where HTTP is not served. */
  readonly metrics: RequestMetrics | undefined;
}

/**
 * Forgets what was counted for versions that are gone. Reading the metrics does that too, but nothing may read them.
 * Returns a function that ends it.
 */
export function forgetGone(manager: ModelManager, { service, metrics }: Counts): () => void {
  let timer: NodeJS.Timeout | undefined;
  const forget = async () => {
    timer = undefined;
    service.forgetGone();
    // A thread that ends meanwhile has nothing more to tell.
    await metrics?.gather().catch(() => {});
    metrics?.forget(service.index());
  };
  const stop = manager.onState(({ state }) => {
    if (state === "END") timer ??= setTimeout(() => void forget(), GATHER_MS).unref();
  });
  return () => {
    stop();
    clearTimeout(timer);
  };
}
