import type { OnDemandServable } from "./on-demand-servable.ts";
import type { VersionTarget } from "./version-target.ts";

/** Checks that a servable that was loaded for one target can serve another with new hooks, since nothing else has changed. */
export function changesHooksAlone(
  { aspired, mayKeepModel }: VersionTarget,
  loaded: VersionTarget | undefined,
  servable: OnDemandServable | undefined,
): boolean {
  const print = aspired?.modelFingerprint;
  if (!mayKeepModel || print === undefined || print !== loaded?.aspired?.modelFingerprint) return false;
  return servable?.isLoaded === true && servable.sources().length > 0;
}
