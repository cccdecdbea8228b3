import type { FieldValues } from "../config/field-table.ts";
import { LATEST_VERSION, type VersionPolicy } from "../config/version-policy.ts";

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
