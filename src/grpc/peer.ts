import type { ServerSession } from "../http2/server-session.ts";
import { peerName } from "../platform/net/sockets.ts";

/** The other end of a connection. */
export interface Peer {
  /** Its IP address; empty if it has none. */
  readonly address: string;
  /** As gRPC names it; empty if it is not known. */
  readonly name: string;
  /** The connection, which may have a client's certificate. */
  readonly connection: object;
}

const peers = new WeakMap<ServerSession, Peer>();

/** The other end of a session, remembered: the system no longer tells once the connection has closed. */
export function peerOf(session: ServerSession): Peer {
  const known = peers.get(session);
  if (known !== undefined) return known;
  const { socket } = session;
  const found = { address: socket.remoteAddress ?? "", name: peerName(socket), connection: socket };
  peers.set(session, found);
  return found;
}
