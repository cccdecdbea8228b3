import { isPrivateAddress } from "./private-address.ts";

/** Checks if the host of a URL is this machine by its usual name, or such an address. */
export function isPrivateHost(hostname: string): boolean {
  return hostname === "localhost" || isPrivateAddress(hostname.replace(/^\[|\]$/g, ""));
}
