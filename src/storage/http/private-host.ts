import { isPrivateAddress } from "./private-address.ts";

/** Checks if the host of a URL is this machine by its usual name, or such an address. */
export function isPrivateHost(hostname: string): boolean {
  const name = hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  return name === "localhost" || name.endsWith(".localhost") || isPrivateAddress(name);
}
