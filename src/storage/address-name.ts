import { schemeOf, shownAddress } from "./remote-address.ts";

/**
 * The name of what is at an address, without user, query, ending, tag and revision; of a version's folder that of the
 * one above it. `oci://host/models/face:v1` is `face`, `s3://bucket/face/3` too.
 */
export function addressName(address: string): string {
  const parts = shownAddress(address).split("/").slice(2).filter(Boolean);
  const last = parts.findLastIndex((part) => !/^\d+$/.test(part));
  const name = parts[last] ?? "";
  // Names of repositories have dots in them, and no endings.
  if (isRepository(schemeOf(address), parts, last)) return name.replace(/[:@].*$/, "");
  return name.replace(/\.tar\.gz$|\.[^.]+$/i, "");
}

function isRepository(scheme: string | undefined, parts: readonly string[], index: number): boolean {
  if (scheme === "hf") return index === 1;
  const tagged = parts.findIndex((part, at) => at > 0 && /[:@]/.test(part));
  return scheme === "oci" && (tagged === -1 || tagged === index);
}
