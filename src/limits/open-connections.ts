import type { Socket } from "node:net";

/** Facts about a connection that its transport knows. */
export interface ConnectionUse {
  /** True while a request is under way on it. */
  readonly isBusy: () => boolean;
  /** Ends it while it is idle, in its protocol's form. */
  readonly end: () => void;
}

const uses = new WeakMap<Socket, ConnectionUse>();

/** Tells what a connection is used for; until then it is idle, such as one that has sent nothing yet. */
export function describeConnection(socket: Socket, use: ConnectionUse): void {
  uses.set(socket, use);
}

/** Connections in the order of their age. */
export class OpenConnections {
  readonly #sockets = new Set<Socket>();

  /** Number of connections. */
  get size(): number {
    return this.#sockets.size;
  }

  /** Adds one until it closes. */
  add(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
  }

  /** Ends the oldest one that is idle, other than a new one; returns false where none is. */
  endOldestIdle(newcomer: Socket): boolean {
    for (const socket of this.#sockets) {
      const use = uses.get(socket);
      if (socket === newcomer || use?.isBusy() === true) continue;
      this.#sockets.delete(socket);
      if (use === undefined) socket.destroy();
      else use.end();
      return true;
    }
    return false;
  }
}
