import type { FieldValues } from "../config/field-table.ts";
import { LATEST_VERSION, type VersionPolicy } from "../config/version-policy.ts";

/** A version policy as TensorFlow Serving, OpenVINO Model Server and Triton write it. */
export const VERSION_POLICY_FIELDS = {
  latest: { type: "group", fields: { num_versions: { type: "integer", min: 0 } } },
  all: { type: "group", fields: {} },
  specific: { type: "group", fields: { versions: { type: "version", repeated: true } } },
} as const;

/** The policy that was read; the last one where several are given, as a oneof of protobuf has it. */
export function toVersionPolicy(fields: FieldValues<typeof VERSION_POLICY_FIELDS> | undefined): VersionPolicy {
  const { latest, all, specific } = fields ?? {};
  if (specific !== undefined) return { kind: "specific", versions: specific.versions ?? [] };
  if (all !== undefined) return { kind: "all" };
  // 0 is what an absent number is in protobuf.
  return latest === undefined ? LATEST_VERSION : { kind: "latest", count: latest.num_versions || 1 };
}
