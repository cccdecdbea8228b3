import { isIP, type Socket } from "node:net";
import { hostname, networkInterfaces } from "node:os";

/** An address without port, brackets, zone or the prefix of IPv4 within IPv6; undefined for any other text. */
export function plainAddress(text: string): string | undefined {
  const [, bracketed] = /^\[([^\]]*)\](?::\d+)?$/.exec(text) ?? [];
  const bare = (bracketed ?? text).replace(/^::ffff:(?=\d+\.)/i, "").split("%", 1)[0] as string;
  if (isIP(bare) !== 0) return bare;
  const [, host = ""] = /^([\d.]+):\d+$/.exec(bare) ?? [];
  return isIP(host) === 4 ? host : undefined;
}

/** Groups of an IPv6 address that name a network; its users choose the others as they like. */
const NETWORK_GROUPS = 4;
const ALL_GROUPS = 8;

/** An IPv4 address, or the network of an IPv6 address, without a port. */
export function networkOf(address: string): string {
  if (!address.includes(":") || address.startsWith("unix")) return address;
  const [head = "", tail] = address.toLowerCase().split("::");
  const first = groupsOf(head);
  const last = tail === undefined ? [] : groupsOf(tail);
  const zeros = Array.from({ length: Math.max(0, ALL_GROUPS - first.length - last.length) }, () => "0");
  const groups = [...first, ...zeros, ...last].slice(0, NETWORK_GROUPS);
  return `${groups.map((group) => group.replace(/^0+(?=.)/, "")).join(":")}::/64`;
}

function groupsOf(part: string): string[] {
  return part === "" ? [] : part.split(":");
}

/** The address of clients that come through a Unix socket, which has none. */
const LOCAL_ADDRESS = "unix:";

/** Makes a connection through a Unix socket known as one of a program of this machine. */
export function markLocal(socket: Socket): Socket {
  return Object.defineProperty(socket, "remoteAddress", { value: LOCAL_ADDRESS });
}

/** Checks that an address, with or without a port, is one that only programs of this machine have. */
export function isLoopback(address: string): boolean {
  if (address === LOCAL_ADDRESS) return true;
  const plain = plainAddress(address) ?? "";
  return plain === "::1" || plain.startsWith("127.");
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
