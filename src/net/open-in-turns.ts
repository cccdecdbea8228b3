import type { Server, Socket } from "node:net";
import { WorkTurns } from "../limits/work-turns.ts";
import { onAccepted } from "./node-members.ts";

type Open = (socket: Socket) => void;

/**
 * Lets a server create sockets for new connections, and start its protocol on them, in turns with all other work: a
 * thousand at once would block the thread for a tenth of a second. Listeners for connections that were added before
 * wait for that turn too; those that are added later are called once there is a socket. Connections for which `isLater`
 * says so start only after the data that arrived from others.
 */
export function openInTurns(server: Server, isLater: (socket: Socket) => boolean = () => false): void {
  const turn = new WorkTurns();
  server.on("listening", () => acceptInTurns(server, turn));
  const listeners = server.listeners("connection") as Open[];
  server.removeAllListeners("connection");
  const open: Open = (socket) => {
    socket.off("error", ignore);
    if (!socket.destroyed) for (const listener of listeners) listener.call(server, socket);
  };
  server.on("connection", (socket: Socket) => {
    // No other code listens for its errors yet.
    socket.on("error", ignore);
    if (isLater(socket)) turn.takeLater(() => open(socket));
    else turn.take(() => open(socket));
  });
}

function acceptInTurns(server: Server, turn: WorkTurns): void {
  onAccepted(server, (connection) =>
    turn.take(() => {
      if (server.listening) connection.createSocket();
      else connection.close();
    }),
  );
}

function ignore(): void {}
