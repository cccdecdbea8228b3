import type { Shadow, Split, Traffic, TrafficTarget } from "../../serving/traffic.ts";
import type { GivenSticky } from "./sticky-field.ts";
import { LATEST_VERSION, type VersionPolicy } from "./version-policy.ts";

/** Split and shadow as users write them. */
export interface GivenTraffic {
  /** Weights by version, or by another model's name. */
  readonly split?: Readonly<Record<string, number>> | undefined;
  readonly sticky?: GivenSticky | undefined;
  readonly shadow?: GivenShadow | undefined;
}

/** A copy of the traffic, to a version or to another model. */
export interface GivenShadow {
  readonly version?: number | bigint | undefined;
  readonly model?: string | undefined;
  /** The share of the requests that is copied. Default 1: all. */
  readonly share?: number | undefined;
}

/** The error in a split or a shadow; undefined where there is none. */
export function trafficProblem({ split, sticky, shadow }: GivenTraffic): string | undefined {
  if (split !== undefined) {
    const weights = Object.values(split);
    if (!weights.every((weight) => weight >= 0) || !weights.some((weight) => weight > 0))
      return "split has no weight over 0, or one below; expected weights by version, such as { 1: 90, 2: 10 }";
  }
  if (sticky !== undefined && split === undefined) return "sticky goes with split; expected weights by version there";
  if (shadow === undefined) return undefined;
  if ((shadow.version === undefined) === (shadow.model === undefined))
    return "shadow has both version and model, or neither; expected one of them, such as { version: 2, share: 0.1 }";
  const { share = 1 } = shadow;
  return share > 0 && share <= 1 ? undefined : `the share of shadow is ${share}; expected a part of 1, such as 0.1`;
}

/** The checked split and shadow of a model. */
export function toTraffic({ split, sticky, shadow }: GivenTraffic): Traffic | undefined {
  if (split === undefined && shadow === undefined) return undefined;
  return { ...(split && { split: toSplit(split, sticky) }), ...(shadow && { shadow: toShadow(shadow) }) };
}

function toSplit(weights: Readonly<Record<string, number>>, sticky: GivenSticky | undefined): Split {
  const targets = Object.entries(weights).map(([key, weight]) => ({ ...toTarget(key), weight }));
  if (typeof sticky === "object") return { targets, stickyInputs: sticky.inputs };
  return { targets, ...(sticky !== undefined && { sticky: sticky.toLowerCase() }) };
}

function toTarget(key: string): TrafficTarget {
  return /^\d{1,19}$/.test(key) ? { version: BigInt(key) } : { model: key };
}

function toShadow({ version, model, share = 1 }: GivenShadow): Shadow {
  return { ...(version !== undefined && { version: BigInt(version) }), ...(model !== undefined && { model }), share };
}

/** The versions to serve where none are configured: those of the split, and the one that gets copies. */
export function impliedVersions({ split, shadow }: Traffic = {}): VersionPolicy {
  const named = [...(split?.targets ?? []), ...(split && shadow ? [shadow] : [])];
  const versions = named.flatMap(({ version }) => version ?? []);
  return versions.length === 0 ? LATEST_VERSION : { kind: "specific", versions: [...new Set(versions)] };
}
