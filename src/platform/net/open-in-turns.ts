import type { Server, Socket } from "node:net";
import { TurnUse, turns } from "../limits/event-loop-turns.ts";
import { turnClientOf } from "../limits/open-connections.ts";
import { WorkTurns } from "../limits/work-turns.ts";
import { carrierSocketOf, onAccepted, receiveInto } from "./node-members.ts";

type Open = (socket: Socket) => void;

/**
 * Lets a server create sockets for new connections, and start its protocol on them, in turns with all other work: a
 * thousand at once would block the thread for a tenth of a second. Listeners for connections that were added before
 * wait for that turn too; those that are added later are called once there is a socket.
 */
export function openInTurns(server: Server): void {
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
    turn.take(() => open(socket));
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

/** Buffer for discarded bytes; all sockets share it. */
const WASTE = Buffer.allocUnsafeSlow(64 * 1024);

/** Reads and discards what a connection still receives, in turns with the work of other connections. */
export function discardInTurns(socket: Socket): void {
  const use = new TurnUse(turnClientOf(carrierSocketOf(socket)));
  const goOn = () => {
    turns.resume(use);
    socket.resume();
  };
  const discard = () => {
    if (socket.isPaused() || turns.begin(use) > 0) return;
    socket.pause();
    turns.wait(use, goOn);
  };
  receiveInto(socket, { writeBuffer: () => WASTE, commit: discard });
  socket.on("data", discard);
}
