import { isIP, type Socket } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import { plainAddress } from "./plain-address.ts";

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
