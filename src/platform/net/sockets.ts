import type { Socket } from "node:net";
import { sentBytesOf } from "./node-members.ts";

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

/** Bytes that a connection has received, and that the system has taken of what it sends. */
export function movedBytesOf(socket: Socket): number {
  return socket.bytesRead + sentBytesOf(socket);
}

const PASSED_ON = Symbol("passedOn");

/** Marks a connection over which another thread of this server passes on what a client's connection sends. */
export function markPassedOn(socket: Socket): Socket {
  return Object.defineProperty(socket, PASSED_ON, { value: true });
}

/** Checks that a connection has the mark. */
export function isPassedOn(socket: object | undefined): boolean {
  return (socket as { readonly [PASSED_ON]?: boolean } | undefined)?.[PASSED_ON] === true;
}

/** Destroys the connections that there still are after some time, or at once. */
export function destroyAfter(sockets: ReadonlySet<Socket>, graceMs: number): void {
  const destroy = () => sockets.forEach((socket) => void socket.destroy());
  if (graceMs === 0) destroy();
  else setTimeout(destroy, graceMs).unref();
}
