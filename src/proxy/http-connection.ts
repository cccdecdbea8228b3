import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { PacedReader } from "./paced-reader.ts";

/** Requests of one connection at once; what its client sends ahead of their answers waits in the socket. */
const MAX_REQUESTS = 4;

/** Begins to answer a request. */
export type Begin = (request: IncomingMessage, response: ServerResponse) => void;

interface WaitingRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly begin: Begin;
}

/** One connection and its requests under way. */
export class HttpConnection {
  readonly #socket: Socket;
  /** Answers that are under way; a handful, or what one piece of the connection's bytes holds. */
  readonly #responses: ServerResponse[] = [];
  /** Requests that came with others in one piece, and have to wait for them. */
  readonly #waiting: WaitingRequest[] = [];
  readonly #reader: PacedReader | undefined;
  #isRetired = false;
  #isDraining = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#reader = PacedReader.of(socket, () => this.#responses.length >= MAX_REQUESTS);
    socket.once("close", () => this.#endUnsent());
  }

  /** True while a request is under way. */
  get isBusy(): boolean {
    return this.#responses.length > 0;
  }

  /** Counts a request until its answer has been sent, or its client is gone; calls `begin` once there are not too many before it. */
  add(request: IncomingMessage, response: ServerResponse, begin: Begin): void {
    this.#responses.push(response);
    this.#reader?.expectBody(Number(request.headers["content-length"] ?? 0));
    if (this.#isRetired) this.#endAfterLast();
    response.on("close", () => {
      this.#responses.splice(this.#responses.indexOf(response), 1);
      // Where the head had been sent before, it could not say that the connection closes.
      if (this.#isDraining && !this.isBusy) this.#socket.end();
      else this.#goOn();
    });
    if (this.#responses.length <= MAX_REQUESTS) begin(request, response);
    else this.#waiting.push({ request, response, begin });
  }

  #goOn(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#reader?.goOn();
    else if (!this.#socket.destroyed) next.begin(next.request, next.response);
  }

  /** Closes the connection after its next answer, which says so; where nothing is under way it stays open for another request. */
  retire(): void {
    this.#isRetired = true;
    this.#endAfterLast();
  }

  /** Closes the connection: at once where nothing is under way, else after the answer. */
  drain(): void {
    this.#isDraining = true;
    this.retire();
    if (!this.isBusy) this.cut();
  }

  /** Says so in the answer to the last request at hand: an earlier one would end the connection before those behind it are sent. */
  #endAfterLast(): void {
    const last = this.#responses.at(-1);
    for (const response of this.#responses) {
      if (!response.headersSent) response.setHeader("connection", response === last ? "close" : "keep-alive");
    }
  }

  /** Closes the connection at once. */
  cut(): void {
    this.#socket.destroy();
  }

  /** Node does not tell answers that wait for those before them that the connection has closed. */
  #endUnsent(): void {
    for (const response of [...this.#responses]) {
      if (response.socket !== null || response.writableFinished) continue;
      response.destroy();
      response.emit("close");
    }
  }
}
