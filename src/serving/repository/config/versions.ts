import type { ConfigNode } from "../../../tensor/codecs/config/config-node.ts";
import type { Shadow, Split, Traffic, TrafficTarget } from "../../traffic.ts";
import type { FieldKind, FieldValues } from "./field-table.ts";

/** The versions of a model that are served: the highest few, all, or certain ones. */
export type VersionPolicy =
  | { readonly kind: "latest"; readonly count: number }
  | { readonly kind: "all" }
  | { readonly kind: "specific"; readonly versions: readonly bigint[] };

/** The default policy. */
const LATEST_VERSION: VersionPolicy = { kind: "latest", count: 1 };

/** Chooses versions by a policy from versions in ascending order. */
export function chooseVersions<Version extends { readonly version: bigint }>(
  policy: VersionPolicy,
  ascending: readonly Version[],
): readonly Version[] {
  if (policy.kind === "latest") return ascending.slice(-policy.count);
  return policy.kind === "all" ? ascending : ascending.filter(({ version }) => policy.versions.includes(version));
}

/** A policy as text: `latest 2`, `all`, `1, 3`. */
export function policyText(policy: VersionPolicy): string {
  if (policy.kind === "latest") return `latest ${policy.count}`;
  return policy.kind === "all" ? "all" : policy.versions.join(", ");
}

/** A version policy as TensorFlow Serving, OpenVINO Model Server and Triton write it. */
export const VERSION_POLICY_FIELDS = {
  latest: { type: "group", fields: { num_versions: { type: "integer", min: 0 } } },
  all: { type: "group", fields: {} },
  specific: { type: "group", fields: { versions: { type: "version", repeated: true } } },
} as const;

/** The last given policy, as in a oneof of protobuf. */
export function toVersionPolicy(fields: FieldValues<typeof VERSION_POLICY_FIELDS> | undefined): VersionPolicy {
  const { latest, all, specific } = fields ?? {};
  if (specific !== undefined) return { kind: "specific", versions: specific.versions ?? [] };
  if (all !== undefined) return { kind: "all" };
  // In protobuf, 0 means that a number is absent.
  return latest === undefined ? LATEST_VERSION : { kind: "latest", count: latest.num_versions || 1 };
}

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

/** The error in a split or a shadow; undefined if there is none. */
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

/** The versions to serve if none are configured: those of the split, and the one that gets copies. */
export function impliedVersions({ split, shadow }: Traffic = {}): VersionPolicy {
  const named = [...(split?.targets ?? []), ...(split && shadow ? [shadow] : [])];
  const versions = named.flatMap(({ version }) => version ?? []);
  return versions.length === 0 ? LATEST_VERSION : { kind: "specific", versions: [...new Set(versions)] };
}

/**
 * The key by which a split routes a request, as users write it: the name of a header (or of gRPC metadata), all inputs,
 * or the names of some inputs.
 */
export type GivenSticky = string | { readonly inputs: "all" | readonly string[] };

const EXPECTED_STICKY = "a header's name, { inputs: all } or a list of inputs such as { inputs: [user_id] }";

/** The key `sticky` of a model. */
export const STICKY_FIELD = {
  type: "custom",
  expected: EXPECTED_STICKY,
  read: readSticky,
  schema: {
    anyOf: [
      { type: "string", minLength: 1 },
      {
        type: "object",
        properties: {
          inputs: { anyOf: [{ enum: ["all"] }, { type: "array", items: { type: "string" }, minItems: 1 }] },
        },
        required: ["inputs"],
        additionalProperties: false,
      },
    ],
  },
} as const satisfies FieldKind;

/** The option `sticky` of a model in `createServer`. */
export const STICKY_CHECK = { expected: EXPECTED_STICKY, accepts: isSticky };

function readSticky(node: ConfigNode): GivenSticky | undefined {
  const value = plainOf(node);
  return isSticky(value) ? value : undefined;
}

function plainOf(node: ConfigNode): unknown {
  if (node.kind === "scalar") return node.value;
  if (node.kind === "list") return node.items.map(plainOf);
  return Object.fromEntries(node.entries.map(({ key, value }) => [key, plainOf(value)]));
}

function isSticky(value: unknown): value is GivenSticky {
  if (isText(value)) return true;
  if (typeof value !== "object" || value === null || Object.keys(value).join() !== "inputs") return false;
  const { inputs } = value as { readonly inputs: unknown };
  return inputs === "all" || (Array.isArray(inputs) && inputs.length > 0 && inputs.every(isText));
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
