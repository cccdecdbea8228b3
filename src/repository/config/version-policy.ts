/** The versions of a model that are served: the highest few, all, or certain ones. */
export type VersionPolicy =
  | { readonly kind: "latest"; readonly count: number }
  | { readonly kind: "all" }
  | { readonly kind: "specific"; readonly versions: readonly bigint[] };

/** The default policy. */
export const LATEST_VERSION: VersionPolicy = { kind: "latest", count: 1 };

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
