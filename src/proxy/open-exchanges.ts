import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { describeConnection } from "../platform/limits/open-connections.ts";
import type { LimitSettings } from "../platform/limits/settings/server-settings.ts";
import { TRANSPORT_LIMITS } from "../platform/limits/transport-limits.ts";
import { carrierSocketOf, resetConnection, unsentBytesOf } from "../platform/net/node-members.ts";
import { movedBytesOf } from "../platform/net/sockets.ts";
import { PacedReader } from "./paced-reader.ts";
import { answerRaw } from "./request-refusal.ts";

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

const MAX_REQUESTS = TRANSPORT_LIMITS.requestsAhead;

const NO_ROOM =
  "The server has no room for more connections, and next to nothing moves on this one; send the request again later.";

/** Begins to answer a request. */
type Begin = (request: IncomingMessage, response: ServerResponse) => void;

interface WaitingRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly begin: Begin;
}

/** Nothing is waited for of the client: its request has come, or is not read on. */
function isWorking({ req }: ServerResponse): boolean {
  return req.complete || req.readableFlowing !== true;
}

/** One connection and its open requests. */
class HttpConnection {
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
    describeConnection(carrierSocketOf(socket), {
      isBusy: () => this.isBusy,
      isWorking: () => this.#responses.some(isWorking) && unsentBytesOf(socket) === 0,
      movedBytes: () => movedBytesOf(socket),
      end: () => this.#makeRoom(),
    });
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

  /** Ends it for others, with an answer if none has begun. */
  #makeRoom(): void {
    const [first] = this.#responses;
    if (first === undefined) this.cut();
    else if (first.headersSent) resetConnection(this.#socket);
    else answerRaw(this.#socket, "503 Service Unavailable", NO_ROOM);
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
