import type { Socket } from "node:net";

/** Destroys the connections that there still are after some time, or at once. */
export function destroyAfter(sockets: ReadonlySet<Socket>, graceMs: number): void {
  const destroy = () => sockets.forEach((socket) => void socket.destroy());
  if (graceMs === 0) destroy();
  else setTimeout(destroy, graceMs).unref();
}
