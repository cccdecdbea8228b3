import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { OpenExchanges } from "./open-exchanges.ts";

/**
 * Time after its last answer in which a client may use a connection again, in milliseconds, as sent in `Keep-Alive:
 * timeout=`. Above the 60 s of common load balancers: one that closes first never sends a request into a closing
 * connection.
 */
const KEEP_ALIVE_MS = 75_000;
/** Further time for a request that was sent just before, in milliseconds. */
const GRACE_MS = 5000;

interface SilenceRules {
  readonly exchanges: OpenExchanges;
  /** 0 = no limit. */
  readonly sendTimeoutMs: number;
  readonly keepAliveMs?: number;
  readonly graceMs?: number;
}

/**
 * Ends silent connections: those whose client does not read its answer, and idle ones. A request that arrived while
 * this thread was busy is never lost, as it would be with Node's own timer, which may end a connection before it is
 * read.
 */
export function limitSilence(server: Server, rules: SilenceRules): void {
  const { exchanges, sendTimeoutMs, keepAliveMs = KEEP_ALIVE_MS, graceMs = GRACE_MS } = rules;
  const inGrace = new WeakMap<Socket, number>();
  server.timeout = sendTimeoutMs;
  server.keepAliveTimeout = keepAliveMs;
  server.on("timeout", (socket: Socket) => {
    if (exchanges.isBusy(socket)) {
      // Without unsent bytes, the client waits for the server.
      // Reset: otherwise the system would keep offering its own buffers.
      if (socket.writableLength > 0) socket.resetAndDestroy();
      return;
    }
    const { bytesRead } = socket;
    if (inGrace.get(socket) !== bytesRead) {
      inGrace.set(socket, bytesRead);
      socket.setTimeout(graceMs);
      return;
    }
    // Timers run before received data is read, and this runs after it.
    setImmediate(() => {
      if (socket.bytesRead === bytesRead) socket.destroy();
    });
  });
}
