import type { OnDemandServable } from "./on-demand-servable.ts";
import type { VersionTarget } from "./version-target.ts";

/**
 * Checks that two targets differ in their hooks only, so that the loaded servable can serve the new one with new hooks.
 */
export function changesHooksAlone(
  { aspired, mayKeepModel }: VersionTarget,
  loaded: VersionTarget | undefined,
  servable: OnDemandServable | undefined,
): boolean {
  const print = aspired?.modelFingerprint;
  if (!mayKeepModel || print === undefined || print !== loaded?.aspired?.modelFingerprint) return false;
  return servable?.isLoaded === true && servable.sources().length > 0;
}
