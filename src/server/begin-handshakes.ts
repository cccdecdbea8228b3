import type { Server, Socket } from "node:net";
import { isHttp1 } from "../grpc/refuse-http1.ts";
import { HANDSHAKE_TIMEOUT_MS } from "../platform/limits/transport-limits.ts";
import { WorkTurns } from "../platform/limits/work-turns.ts";

type Begin = (socket: Socket) => void;

/** The first byte of TLS: a handshake record; then a version of two bytes and the record's length (RFC 8446 §5.1). */
const HANDSHAKE = 0x16;
const LENGTH_AT = 3;
const HEAD_BYTES = 5;
/** A longer record is refused by TLS itself. */
const MAX_RECORD_BYTES = 16_640;

/**
 * Lets a TLS server begin handshakes in turns with all other work: each takes up to a millisecond of computing keys,
 * which Node does as soon as it has read the client's first record. So connections become TLS only once that record is
 * there. To be called before other listeners for connections are added; a client that does not send it in time is given
 * up as one that does not finish its handshake. `refusePlain` gets connections that begin a request of HTTP/1 instead;
 * without it TLS refuses them.
 */
export function beginHandshakes(server: Server, refusePlain?: (socket: Socket) => void): void {
  const turn = new WorkTurns();
  const listeners = server.listeners("connection") as Begin[];
  server.removeAllListeners("connection");
  const begin = (socket: Socket, first: Buffer) => {
    if (socket.destroyed) return;
    if (refusePlain !== undefined && isHttp1(first)) return refusePlain(socket);
    for (const listener of listeners) listener.call(server, socket);
  };
  server.on("connection", (socket: Socket) => {
    // No other code listens for its errors until its turn.
    socket.on("error", ignore);
    const giveUp = (reason: Error) => server.emit("tlsClientError", reason, socket);
    awaitRecord(socket, { giveUp, begin: (first) => turn.take(() => begin(socket, first)) });
  });
}

interface Waiter {
  readonly begin: (first: Buffer) => void;
  readonly giveUp: (reason: Error) => void;
}

function awaitRecord(socket: Socket, { begin, giveUp }: Waiter): void {
  let first = Buffer.alloc(0);
  const refuse = (reason: Error) => {
    stop();
    giveUp(reason);
  };
  const leave = (reason: Error) => {
    if (first.length > 0) return refuse(reason);
    // A probe of the port, as load balancers and clusters send them, is not a client that fails.
    stop();
    socket.destroy();
  };
  const end = () => leave(new Error("the client closed the connection before its handshake"));
  const look = () => {
    const more: Buffer | null = socket.read();
    if (more === null) return;
    first = Buffer.concat([first, more]);
    if (!isWhole(first)) return;
    stop();
    socket.unshift(first);
    begin(first);
  };
  const timer = setTimeout(
    // After received data has been read: this thread may have been busy for long.
    () => setImmediate(() => !isWhole(first) && refuse(new Error("TLS handshake timeout"))),
    HANDSHAKE_TIMEOUT_MS,
  ).unref();
  const stop = () => {
    clearTimeout(timer);
    socket.off("readable", look).off("end", end).off("error", leave).off("close", stop);
  };
  socket.on("readable", look).on("end", end).on("error", leave).on("close", stop);
}

/** True for a whole record, and for what cannot be one. */
function isWhole(bytes: Buffer): boolean {
  if (bytes.length > 0 && bytes[0] !== HANDSHAKE) return true;
  if (bytes.length < HEAD_BYTES) return false;
  return bytes.length >= Math.min(MAX_RECORD_BYTES, HEAD_BYTES + bytes.readUInt16BE(LENGTH_AT));
}

function ignore(): void {}
