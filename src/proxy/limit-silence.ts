import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { LimitSettings } from "../platform/limits/settings/server-settings.ts";
import { TRANSPORT_LIMITS } from "../platform/limits/transport-limits.ts";
import { resetConnection } from "../platform/net/node-members.ts";
import type { OpenExchanges } from "./open-exchanges.ts";

/** Further time for a request that was sent just before, in milliseconds. */
const GRACE_MS = 5000;

interface SilenceRules extends Pick<LimitSettings, "sendTimeoutMs"> {
  readonly keepAliveMs?: number;
  readonly graceMs?: number;
}

/**
 * Ends silent connections: those whose client does not read its answer, and idle ones. A request that arrived while
 * this thread was busy is never lost, as it would be with Node's own timer, which may end a connection before it is
 * read.
 */
export function limitSilence(server: Server, exchanges: OpenExchanges, rules: SilenceRules): void {
  const { sendTimeoutMs, keepAliveMs = TRANSPORT_LIMITS.keepAliveMs, graceMs = GRACE_MS } = rules;
  const inGrace = new WeakMap<Socket, number>();
  server.timeout = sendTimeoutMs;
  server.keepAliveTimeout = keepAliveMs;
  server.on("timeout", (socket: Socket) => {
    if (exchanges.isBusy(socket)) {
      // Without unsent bytes, the client waits for the server.
      // Reset: otherwise the system would keep offering its own buffers.
      if (socket.writableLength > 0) resetConnection(socket);
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
