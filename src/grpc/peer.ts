import type { Caller } from "../access/caller.ts";
import type { ReceivedFields } from "../http2/message-head.ts";
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

/** The origin of a call with these headers, as far as it is known before it has authenticated. */
export function callerOf(session: ServerSession, headers: ReceivedFields): Caller {
  const { address, connection } = peerOf(session);
  return { address, host: headers[":authority"] ?? headers.host, headers, connection };
}
