import type { AspiredVersion } from "./aspired-model.ts";
import type { LoadPolicy } from "./load-policy.ts";
import { loadVersion } from "./load-version.ts";
import type { Servable } from "./servable.ts";

/** A load for requests that wait for it. */
interface WantedLoad {
  readonly model: string;
  readonly version: AspiredVersion;
  /** True where what waits for it may itself be loading. */
  readonly atOnce: boolean;
  readonly signal: AbortSignal;
}

/** Loads a version that was unloaded while it was idle, in one try. */
export function loadOnDemand(
  { gate, needed, timeoutMs }: LoadPolicy,
  { model, version, atOnce, signal }: WantedLoad,
): Promise<Servable> {
  const load = () => loadVersion(version, { signal, timeoutMs });
  // What holds a place of the gate may be warmed up by requests that need this one.
  return atOnce || needed.dependentsOf(model).length > 0 ? load() : gate.run(load, signal);
}
