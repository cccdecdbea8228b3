import type { Server, Socket } from "node:net";
import { WorkTurns } from "./work-turns.ts";

type Open = (socket: Socket) => void;

/** A connection that the system has accepted, before Node creates its socket. */
interface AcceptedHandle {
  close(): void;
}

/** A listening socket's handle in Node, which accepts all waiting connections at once and calls its function for each. */
interface ListeningHandle {
  onconnection?: (this: ListeningHandle, error: number, accepted: AcceptedHandle | undefined) => void;
}

/**
 * Lets a server create sockets for new connections, and start its protocol on them, in turns with all other work: a
 * thousand at once would block the thread for a tenth of a second. To be called before other listeners for connections
 * are added, which are called once there is a socket.
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

/** Replaces Node's own function, where this version of Node has it. */
function acceptInTurns(server: Server, turn: WorkTurns): void {
  const { _handle: handle } = server as { readonly _handle?: ListeningHandle };
  const accept = handle?.onconnection;
  if (handle === undefined || typeof accept !== "function") return;
  handle.onconnection = (error, accepted) => {
    if (accepted === undefined) return accept.call(handle, error, accepted);
    turn.take(() => {
      if (server.listening) accept.call(handle, error, accepted);
      else accepted.close();
    });
  };
}

function ignore(): void {}
