import type { Server, Socket } from "node:net";
import { TurnUse, turns } from "./turns.ts";

type Open = (socket: Socket) => void;

/**
 * Lets a server begin its protocol on new connections by turns with all other work: a thousand that come at once would keep the
 * thread for a tenth of a second. To be called before others listen for connections, which hear of them when they are accepted.
 */
export function openInTurns(server: Server): void {
  const listeners = server.listeners("connection") as Open[];
  server.removeAllListeners("connection");
  const use = new TurnUse();
  const open: Open = (socket) => {
    socket.off("error", ignore);
    if (!socket.destroyed) for (const listener of listeners) listener.call(server, socket);
  };
  server.on("connection", (socket: Socket) => {
    // Nothing else listens for its errors yet.
    socket.on("error", ignore);
    if (turns.begin(use) > 0) return open(socket);
    turns.wait(use, () => {
      turns.resume(use);
      open(socket);
    });
  });
}

function ignore(): void {}
