import type { Logger } from "../../observability/logger.ts";
import type { Model } from "../driver.ts";
import { readWarmUpRequests } from "./warm-up-requests.ts";

/** Runs the requests that lie beside a SavedModel for this, since a graph's first run takes longest. What goes wrong is only logged: the model itself is loaded. */
export async function warmUp(model: Model, folder: string, log: Logger): Promise<void> {
  const started = performance.now();
  const { signal } = new AbortController();
  try {
    const requests = readWarmUpRequests(folder);
    for (const { signature, inputs } of requests) await model.predict(inputs, { signature, signal });
    if (requests.length === 0) return;
    log.info("the model is warm", { requests: requests.length, ms: Math.round(performance.now() - started) });
  } catch (reason) {
    log.warn("a warm-up request failed", { folder, err: reason });
  }
}
