import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type Begin, HttpConnection } from "./http-connection.ts";

/** The open connections and requests, for an orderly shutdown. */
export class OpenExchanges {
  readonly #connections = new Map<Socket, HttpConnection>();
  readonly #goneListeners: (() => void)[] = [];
  /** Each connection closes after its next answer. */
  isRetired = false;

  /** Counts a new connection, on which HTTP may start in a later turn. */
  connect(socket: Socket): void {
    if (!this.#connections.has(socket)) this.#count(socket);
  }

  /** Paces a connection on which HTTP has started, which may be before it is counted. */
  pace(socket: Socket): void {
    const connection = this.#connections.get(socket) ?? this.#count(socket);
    connection.pace();
  }

  #count(socket: Socket): HttpConnection {
    const connection = new HttpConnection(socket);
    if (this.isRetired) connection.retire();
    this.#connections.set(socket, connection);
    socket.once("close", () => {
      this.#connections.delete(socket);
      if (this.#connections.size === 0) for (const listener of this.#goneListeners.splice(0)) listener();
    });
    return connection;
  }

  /** Resolves once all connections have closed. */
  async gone(): Promise<void> {
    if (this.#connections.size === 0) return;
    await new Promise<void>((resolve) => this.#goneListeners.push(resolve));
  }

  /** Counts a request until it is answered or its client has left; calls `begin` once it may be answered. */
  add(request: IncomingMessage, response: ServerResponse, begin: Begin): void {
    const connection = this.#connections.get(request.socket);
    if (connection === undefined) begin(request, response);
    else connection.add(request, response, begin);
  }

  /** Checks if a connection has an open request. */
  isBusy(socket: Socket): boolean {
    return this.#connections.get(socket)?.isBusy === true;
  }

  /** Closes each connection after its next answer, later connections too. */
  retire(): void {
    this.isRetired = true;
    for (const connection of this.#connections.values()) connection.retire();
  }

  /** Closes idle connections immediately, the others after their answer. */
  drain(): void {
    for (const connection of this.#connections.values()) connection.drain();
  }

  /** Destroys all connections. */
  cut(): void {
    for (const connection of this.#connections.values()) connection.cut();
  }
}
