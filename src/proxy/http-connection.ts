import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { describeConnection } from "../platform/limits/connection-limit.ts";
import { TRANSPORT_LIMITS } from "../platform/limits/transport-limits.ts";
import { carrierSocketOf } from "../platform/net/node-members.ts";
import { PacedReader } from "./paced-reader.ts";

const MAX_REQUESTS = TRANSPORT_LIMITS.requestsAhead;

/** Begins to answer a request. */
export type Begin = (request: IncomingMessage, response: ServerResponse) => void;

interface WaitingRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly begin: Begin;
}

/** One connection and its open requests. */
export class HttpConnection {
  readonly #socket: Socket;
  /** Open answers; a handful, or as many as one piece of the connection's bytes contained. */
  readonly #responses: ServerResponse[] = [];
  /** Requests that arrived in one piece with others, and wait for them. */
  readonly #waiting: WaitingRequest[] = [];
  #reader: PacedReader | undefined;
  #isRetired = false;
  #isDraining = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    describeConnection(carrierSocketOf(socket), { isBusy: () => this.isBusy, end: () => this.cut() });
    socket.once("close", () => this.#endUnsent());
  }

  /** Paces its requests; to be called once Node's HTTP has started on the socket. */
  pace(): void {
    this.#reader = PacedReader.of(this.#socket, () => this.#responses.length >= MAX_REQUESTS);
  }

  /** True while a request is under way. */
  get isBusy(): boolean {
    return this.#responses.length > 0;
  }

  /**
   * Counts a request until its answer has been sent or its client has left; calls
   * `begin` once few enough are before it.
   */
  add(request: IncomingMessage, response: ServerResponse, begin: Begin): void {
    this.#responses.push(response);
    this.#reader?.expectBody(Number(request.headers["content-length"] ?? 0));
    if (this.#isRetired) this.#endAfterLast();
    response.on("close", () => {
      this.#responses.splice(this.#responses.indexOf(response), 1);
      // The header was sent before it could contain `Connection: close`.
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

  /**
   * Closes the connection after its next answer, which has `Connection: close`; an idle connection stays open for
   * another request.
   */
  retire(): void {
    this.#isRetired = true;
    this.#endAfterLast();
  }

  /** Closes the connection: immediately when it is idle, else after the answer. */
  drain(): void {
    this.#isDraining = true;
    this.retire();
    if (!this.isBusy) this.cut();
  }

  /**
   * Sets `Connection: close` on the last open answer: on an earlier one, it would end the connection before the later
   * ones are sent.
   */
  #endAfterLast(): void {
    const last = this.#responses.at(-1);
    for (const response of this.#responses) {
      if (!response.headersSent) response.setHeader("connection", response === last ? "close" : "keep-alive");
    }
  }

  /** Destroys the connection. */
  cut(): void {
    this.#socket.destroy();
  }

  /** Node does not notify answers that wait for earlier ones when the connection closes. */
  #endUnsent(): void {
    for (const response of [...this.#responses]) {
      if (response.socket !== null || response.writableFinished) continue;
      response.destroy();
      response.emit("close");
    }
  }
}
