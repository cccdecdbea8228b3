import type { Socket } from "node:net";

const names = new WeakMap<object, string>();

/**
 * The other end of a connection as gRPC names it: `ipv4:127.0.0.1:50000`, `ipv6:[::1]:50000`, `unix:`; remembered,
 * since Node asks the system.
 */
export function peerName(socket: Pick<Socket, "remoteAddress" | "remotePort">): string {
  const known = names.get(socket);
  if (known !== undefined) return known;
  const name = nameOf(socket);
  names.set(socket, name);
  return name;
}

function nameOf({ remoteAddress: address, remotePort: port }: Pick<Socket, "remoteAddress" | "remotePort">): string {
  if (address === undefined || port === undefined) return "unix:";
  const v4 = /^(?:::ffff:)?(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  return v4 === undefined ? `ipv6:[${address}]:${port}` : `ipv4:${v4}:${port}`;
}
