import type { AspiredVersion } from "./aspired-model.ts";
import { loadInTime } from "./load-in-time.ts";
import type { LoadPolicy } from "./load-policy.ts";
import type { Servable } from "./servable.ts";

/** A load for requests that wait for it. */
interface WantedLoad {
  readonly model: string;
  readonly version: AspiredVersion;
  /** Aborts once a request waits for it that may itself be part of a load. */
  readonly atOnce: AbortSignal;
  readonly signal: AbortSignal;
}

/** Loads a version that was unloaded while it was idle, in one attempt. */
export function loadOnDemand(
  { gate, needed, loading }: LoadPolicy,
  { model, version, atOnce, signal }: WantedLoad,
): Promise<Servable> {
  const load = () => loadInTime(version, { signal, timeoutMs: loading.loadTimeoutMs });
  // A load that holds a place of the gate may run warm-up requests that need this version.
  return needed.dependentsOf(model).length > 0 ? load() : gate.run(load, signal, atOnce);
}
