import type { Http2Session } from "node:http2";
import { peerName } from "../platform/net/sockets.ts";

/** The other end of a connection. */
export interface Peer {
  /** Its IP address; empty if it has none. */
  readonly address: string;
  /** As gRPC names it; empty if it is not known. */
  readonly name: string;
  /** The connection, which may have a client's certificate; undefined if it closed before it was asked for. */
  readonly connection: object | undefined;
}

const UNKNOWN: Peer = { address: "", name: "", connection: undefined };
const peers = new WeakMap<Http2Session, Peer>();

/** The other end of a session: Node answers each look at a session's socket in a microsecond. */
export function peerOf(session: Http2Session | undefined): Peer {
  if (session === undefined) return UNKNOWN;
  const known = peers.get(session);
  if (known !== undefined) return known;
  const { socket } = session;
  if (socket === undefined) return UNKNOWN;
  const found = { address: socket.remoteAddress ?? "", name: peerName(socket), connection: socket };
  peers.set(session, found);
  return found;
}
