import { isIP } from "node:net";
import { hostname, networkInterfaces } from "node:os";

/** Checks that an IP address, with or without a port, is a loopback address. */
export function isLoopback(address: string): boolean {
  return /^(?:::ffff:)?127\.|^\[?::1(?:\]|$)/.test(address);
}

/**
 * Checks that a `Host` or `:authority` is an address or a name of this machine. A page on a name that its owner points
 * at this machine after it was loaded (DNS rebinding) has its own name there.
 */
export function isOwnHost(authority: string): boolean {
  const [, bracketed, plain = ""] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d{1,5})?$/.exec(authority) ?? [];
  const host = (bracketed ?? plain).toLowerCase().replace(/\.$/, "");
  if (isIP(host) !== 0) return isLoopback(host) || ownAddresses().includes(host);
  const own = hostname().toLowerCase();
  return (
    host === "localhost" || host.endsWith(".localhost") || (host !== "" && (host === own || host === own.split(".")[0]))
  );
}

function ownAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((addresses = []) => addresses.map(({ address }) => address));
}
