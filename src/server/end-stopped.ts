import type { Server, TLSSocket } from "node:tls";
import { stoppedAt } from "../net/node-members.ts";

/** Milliseconds between two looks. */
const LOOK_MS = 2000;

/**
 * Ends a TLS server's connections that will never send again. Where a client resets its connection and the first write
 * that fails is one of TLS itself, such as a session ticket, Node tells no one, waits for that write for ever, and
 * the connection takes all that is written to it, but sends nothing and is never closed.
 */
export function endStopped(server: Pick<Server, "on">, lookMs = LOOK_MS): void {
  const open = new Map<TLSSocket, number | undefined>();
  let timer: NodeJS.Timeout | undefined;
  const look = () => {
    for (const [socket, before] of open) {
      const sent = stoppedAt(socket);
      // A write that was done in this turn is reported in a later one.
      if (sent !== undefined && sent === before) socket.destroy();
      else if (sent !== before) open.set(socket, sent);
    }
  };
  server.on("secureConnection", (socket: TLSSocket) => {
    open.set(socket, undefined);
    timer ??= setInterval(look, lookMs).unref();
    socket.once("close", () => {
      open.delete(socket);
      if (open.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    });
  });
}
