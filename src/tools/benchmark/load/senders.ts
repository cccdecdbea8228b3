import * as http from "node:http";
import * as https from "node:https";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectEncrypted } from "node:tls";
import { frameBytes, PREFIX_BYTES } from "../../../grpc/framed-message.ts";
import { ClientSession } from "../../../http2/client-session.ts";
import type { LoadTarget } from "./load-job.ts";

/** Notified once when a request is over: undefined = answered well, else what was wrong in a few words. */
type Done = (problem: string | undefined) => void;

/** Sends the request of a target over its connections. */
export interface Sender {
  send(done: Done): void;
  /** Ends all connections; open requests are over. */
  close(): void;
}

/** Creates the sender of a target's protocol; it connects with the first request. */
export function createSender(target: LoadTarget): Sender {
  return target.protocol === "grpc" ? new GrpcSender(target) : new HttpSender(target);
}

/** Posts over HTTP/1.1, on connections that are kept. */
class HttpSender implements Sender {
  readonly #target: LoadTarget;
  readonly #agent: http.Agent;
  readonly #options: http.RequestOptions;
  readonly #request: typeof http.request;

  constructor(target: LoadTarget) {
    const { protocol, hostname, port } = new URL(target.origin);
    const library = protocol === "https:" ? https : http;
    this.#target = target;
    this.#request = library.request;
    this.#agent = new library.Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, noDelay: true });
    const headers = { ...target.headers, "content-length": String(target.body.length) };
    this.#options = {
      ...{ method: "POST", agent: this.#agent, path: target.path, headers },
      // The brackets of an IPv6 address belong to the URL.
      ...{ hostname: hostname.replace(/^\[|\]$/g, ""), port },
    };
  }

  send(done: Done): void {
    let problem: string | undefined = "the connection ended before the answer";
    const request = this.#request(this.#options, (response) => {
      const { statusCode } = response;
      response.resume();
      response.on("end", () => {
        problem = statusCode === 200 ? undefined : `status ${statusCode}`;
      });
    });
    request.on("error", (error: NodeJS.ErrnoException) => {
      problem = error.code ?? error.message;
    });
    request.on("close", () => done(problem));
    request.end(this.#target.body);
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** Windows that no answer fills, so that the client never holds a server up. */
const MANY = 2 ** 30;
const WINDOWS = { streamWindowBytes: MANY, connectionWindowBytes: MANY, maxConnectionWindowBytes: MANY };

/**
 * Makes unary calls with HTTP/2 of our own, without the layers of a gRPC library: the load
 * should cost its own machine little.
 */
export class GrpcSender implements Sender {
  readonly #target: LoadTarget;
  readonly #message: Buffer;
  readonly #headers: Record<string, string>;
  readonly #connections: (Connection | undefined)[] = [];
  #next = 0;

  constructor(target: LoadTarget) {
    const { protocol, host } = new URL(target.origin);
    this.#target = target;
    this.#message = Buffer.concat(frameBytes(target.body));
    this.#headers = {
      ":method": "POST",
      ":scheme": protocol.slice(0, -1),
      ":path": target.path,
      ":authority": host,
      "content-type": "application/grpc",
      te: "trailers",
      ...target.headers,
    };
  }

  send(done: Done): void {
    this.#connection().send(this.#headers, this.#message, done);
  }

  close(): void {
    for (const connection of this.#connections) connection?.close();
  }

  /** The connections in turn; one that was lost is opened again. */
  #connection(): Connection {
    const at = this.#next++ % this.#target.connections;
    let connection = this.#connections[at];
    if (connection === undefined || connection.isOver) {
      connection = new Connection(this.#target.origin);
      this.#connections[at] = connection;
    }
    return connection;
  }
}

/** A call that waits for others to end. */
interface WaitingCall {
  begin(): void;
  readonly done: Done;
}

/** One connection; calls that are more than its server takes at a time wait for others to end. */
class Connection {
  readonly #socket: Socket;
  readonly #session: ClientSession;
  readonly #waiting: WaitingCall[] = [];
  #problem = "the connection ended before the answer";

  constructor(origin: string) {
    this.#socket = openSocket(origin);
    this.#socket.setNoDelay(true);
    this.#socket.on("error", (error: NodeJS.ErrnoException) => {
      this.#problem = error.code ?? error.message;
    });
    this.#session = new ClientSession(this.#socket, WINDOWS);
    this.#socket.once("close", () => {
      for (const { done } of this.#waiting.splice(0)) done(this.#problem);
    });
  }

  get isOver(): boolean {
    return this.#session.closed;
  }

  send(headers: Record<string, string>, message: Buffer, done: Done): void {
    if (this.#session.hasRoom) this.#begin(headers, message, done);
    else this.#waiting.push({ begin: () => this.#begin(headers, message, done), done });
  }

  close(): void {
    this.#socket.destroy();
  }

  #begin(headers: Record<string, string>, message: Buffer, done: Done): void {
    const answer = new Answer();
    const stream = this.#session.request(headers, (raw) => answer.takeHead(raw));
    const end = (problem: string | undefined) => {
      if (!this.isOver) this.#waiting.shift()?.begin();
      done(problem);
    };
    stream.receiveInto({
      take: (_, from, to) => answer.takeBytes(to - from),
      end: () => end(answer.problemWith(stream.trailers)),
    });
    stream.once("aborted", () => end(this.#socket.destroyed ? this.#problem : `reset ${stream.rstCode}`));
    stream.end(message);
  }
}

function openSocket(origin: string): Socket {
  const { protocol, hostname, port } = new URL(origin);
  const isEncrypted = protocol === "https:";
  // The brackets of an IPv6 address belong to the URL.
  const address = { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port || (isEncrypted ? 443 : 80)) };
  if (!isEncrypted) return connect(address);
  const servername = isIP(address.host) === 0 ? { servername: address.host } : {};
  return connectEncrypted({ ...address, ...servername, ALPNProtocols: ["h2"] });
}

/** The answer to one call. */
class Answer {
  #head: readonly string[] = [];
  #bytes = 0;

  takeHead(raw: readonly string[]): void {
    this.#head = raw;
  }

  takeBytes(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Reason for which the whole answer is not a good one; undefined if it is. */
  problemWith(trailers: readonly string[] = []): string | undefined {
    const http = fieldOf(this.#head, ":status");
    if (http !== "200") return `HTTP status ${http}`;
    const all = [...trailers, ...this.#head];
    const status = fieldOf(all, "grpc-status");
    if (status === undefined) return "the connection ended before the answer";
    if (status === "0") return this.#bytes < PREFIX_BYTES ? "an answer without a message" : undefined;
    return `gRPC status ${status}: ${messageOf(fieldOf(all, "grpc-message"))}`;
  }
}

/** Of names that are each followed by a value. */
function fieldOf(raw: readonly string[], name: string): string | undefined {
  const at = raw.indexOf(name);
  return at < 0 ? undefined : raw[at + 1];
}

function messageOf(text: unknown): string {
  return typeof text === "string" ? decoded(text).slice(0, 100) : "no message";
}

/** gRPC escapes other characters than ASCII as URLs do; another server's text may have a plain percent sign. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
