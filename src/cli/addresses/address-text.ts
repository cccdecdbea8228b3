import { isIP } from "node:net";

/**
 * An address to which a client on this machine can connect: a server may listen on 0.0.0.0 or [::], which are not
 * addresses to connect to.
 * Takes `host:port` with or without a scheme before it.
 */
export function toReachableAddress(address: string, loopback = "localhost"): string {
  return address.replace(/(^|\/\/)(0\.0\.0\.0|\[::\])(?=:\d+$)/, `$1${loopback}`);
}

/** The port of an address, `HOST:PORT` or a URL without a path. */
export function portOf(address: string): string {
  return address.slice(address.lastIndexOf(":") + 1);
}

/**
 * A machine's name or IP address, without the brackets that an IPv6 address may have;
 * undefined for what can be neither.
 */
export function parseHost(text: string): string | undefined {
  const bare = text.replace(/^\[(.*:.*)\]$/, "$1");
  return /^[\w.-]+$/.test(bare) || isIP(bare) !== 0 ? bare : undefined;
}

/** Checks that a text is the number of a port that can be connected to. */
export function isPortNumber(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65535;
}
