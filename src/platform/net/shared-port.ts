import { createServer, type Socket } from "node:net";
import { HANDSHAKE_TIMEOUT_MS } from "../limits/transport-limits.ts";
import { WorkTurns } from "../limits/work-turns.ts";
import { type ListenPlace, listen, type PortLimit } from "./listen.ts";
import { openInTurns } from "./open-in-turns.ts";
import { destroyAfter } from "./sockets.ts";

/** Handlers of a port's connections, by their protocol. */
export interface SharedPortUsers {
  readonly http1: (socket: Socket) => void;
  readonly http2: (socket: Socket) => void;
  /** Time in which a client must show its protocol, in milliseconds. Default 20 000. */
  readonly handshakeTimeoutMs?: number;
  /** Gets connections whose clients have not shown their protocol in time. Default: they are closed. */
  readonly silent?: ((socket: Socket) => void) | undefined;
  /** Limit of connections, shared with other ports. Default: none. */
  readonly connections?: PortLimit | undefined;
}

/** A port for two protocols, one of which may only be refused. */
export interface SharedPort {
  /** Address on which it listens. */
  readonly host: string;
  readonly port: number;
  /**
   * Accepts no new connections. Those that were passed on stay open; those that have not shown their protocol have some
   * time for that.
   */
  close(graceMs?: number): void;
}

/** The first bytes of every HTTP/2 connection without TLS (RFC 9113 §3.4), which distinguish it from HTTP/1. */
const PREFACE = "PRI";

/**
 * Listens on one port for HTTP/2 without TLS and for other protocols, for platforms with one port per container. Throws
 * `unavailable` when it cannot listen.
 */
export async function listenShared(place: ListenPlace, users: SharedPortUsers): Promise<SharedPort> {
  const { handshakeTimeoutMs = HANDSHAKE_TIMEOUT_MS, silent = (socket) => socket.destroy() } = users;
  const unknown = new Set<Socket>();
  const turn = new WorkTurns();
  // As they are if node:http listens: else the second of two small writes waits for an acknowledgement.
  const server = createServer({ noDelay: true }, (socket) => {
    unknown.add(socket);
    // After received data has been read: this thread may have been busy for long.
    const closeUnknown = () =>
      setImmediate(() => {
        if (!unknown.delete(socket)) return;
        stop();
        silent(socket);
      });
    const timer = setTimeout(closeUnknown, handshakeTimeoutMs).unref();
    socket.once("close", () => {
      clearTimeout(timer);
      unknown.delete(socket);
    });
    const stop = tellApart(socket, turn, (isHttp2) => {
      clearTimeout(timer);
      unknown.delete(socket);
      if (isHttp2) users.http2(socket);
      else users.http1(socket);
    });
  });
  openInTurns(server);
  const bound = await listen(server, place, users.connections);
  const close = (graceMs = 0) => {
    server.close();
    // No transport knows the connections that have not shown their protocol.
    destroyAfter(unknown, graceMs);
  };
  return { ...bound, close };
}

/**
 * Calls back once a connection's first bytes show its protocol, even if they arrive one by one. Connections whose bytes
 * arrive together are looked at in turns. Returns how to stop looking, after which only errors are waited for.
 */
function tellApart(socket: Socket, turn: WorkTurns, told: (isHttp2: boolean) => void): () => void {
  const giveUp = () => socket.destroy();
  let first = Buffer.alloc(0);
  let hasStopped = false;
  const look = () => {
    const more: Buffer | null = socket.destroyed || hasStopped ? null : socket.read();
    if (more === null) return;
    first = Buffer.concat([first, more]);
    const start = first.toString("latin1", 0, PREFACE.length);
    if (start !== PREFACE && PREFACE.startsWith(start)) return;
    socket.off("readable", lookInTurn).off("end", giveUp).off("error", giveUp);
    socket.unshift(first);
    told(start === PREFACE);
  };
  let isWaiting = false;
  const lookInTurn = () => {
    // More bytes may arrive while it waits; once the protocol is known, nothing may look again.
    if (isWaiting) return;
    isWaiting = true;
    turn.take(() => {
      isWaiting = false;
      look();
    });
  };
  socket.on("readable", lookInTurn).on("end", giveUp).on("error", giveUp);
  return () => {
    hasStopped = true;
    socket.off("readable", lookInTurn).off("end", giveUp);
  };
}
