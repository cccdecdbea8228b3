import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { OpenExchanges } from "./open-exchanges.ts";

/**
 * Time after its last answer for which a client may use a connection again, in milliseconds, as `Keep-Alive: timeout=` tells it.
 * Above the 60 s of common load balancers: one that closes first never sends a request into a closing connection.
 */
const KEEP_ALIVE_MS = 75_000;
/** Time beyond that for a request which was sent just before, in milliseconds. */
const GRACE_MS = 5000;

interface SilenceRules {
  readonly exchanges: OpenExchanges;
  /** 0 = clients have all the time they like. */
  readonly sendTimeoutMs: number;
  readonly keepAliveMs?: number;
  readonly graceMs?: number;
}

/**
 * Ends connections on which nothing moves: one whose client takes nothing of its answer, and one that is kept alive in vain.
 * A request that has arrived while this thread was busy is never lost, as it is where Node's own timer ends a connection before
 * it has been read.
 */
export function limitSilence(server: Server, rules: SilenceRules): void {
  const { exchanges, sendTimeoutMs, keepAliveMs = KEEP_ALIVE_MS, graceMs = GRACE_MS } = rules;
  const inGrace = new WeakMap<Socket, number>();
  server.timeout = sendTimeoutMs;
  server.keepAliveTimeout = keepAliveMs;
  server.on("timeout", (socket: Socket) => {
    if (exchanges.isBusy(socket)) {
      // Without unsent bytes it is the server that its client waits for.
      // Reset, since the system would go on offering what it has in its own buffers.
      if (socket.writableLength > 0) socket.resetAndDestroy();
      return;
    }
    const { bytesRead } = socket;
    if (inGrace.get(socket) !== bytesRead) {
      inGrace.set(socket, bytesRead);
      socket.setTimeout(graceMs);
      return;
    }
    // Timers run before what has arrived is read, and this after it.
    setImmediate(() => {
      if (socket.bytesRead === bytesRead) socket.destroy();
    });
  });
}
