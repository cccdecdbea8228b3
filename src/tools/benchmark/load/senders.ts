import * as http from "node:http";
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from "node:http2";
import * as https from "node:https";
import { systemCode } from "../../../errors.ts";
import { frameBytes, PREFIX_BYTES } from "../../../grpc/framed-message.ts";
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
const WINDOW_BYTES = 2 ** 30;

/**
 * Makes unary calls with Node's HTTP/2, without the layers of a gRPC library: the load
 * should cost its own machine little.
 */
export class GrpcSender implements Sender {
  readonly #target: LoadTarget;
  readonly #message: Buffer;
  readonly #headers: Record<string, string>;
  readonly #sessions: (ClientHttp2Session | undefined)[] = [];
  #next = 0;

  constructor(target: LoadTarget) {
    this.#target = target;
    this.#message = Buffer.concat(frameBytes(target.body));
    this.#headers = {
      ":method": "POST",
      ":path": target.path,
      "content-type": "application/grpc",
      te: "trailers",
      ...target.headers,
    };
  }

  send(done: Done): void {
    const stream = this.#session().request(this.#headers, { endStream: false });
    new Call(stream, done);
    stream.end(this.#message);
  }

  close(): void {
    for (const session of this.#sessions) session?.destroy();
  }

  /** The connections in turn; one that was lost is opened again. */
  #session(): ClientHttp2Session {
    const at = this.#next++ % this.#target.connections;
    const known = this.#sessions[at];
    if (known !== undefined && !known.closed && !known.destroyed) return known;
    const settings = { enablePush: false, initialWindowSize: WINDOW_BYTES };
    // Node would end requests once 10 MB of them wait to be sent.
    const session = connect(this.#target.origin, { settings, maxSessionMemory: Number.MAX_SAFE_INTEGER });
    session.on("connect", () => session.setLocalWindowSize(WINDOW_BYTES));
    // Each open request reports it.
    session.on("error", () => {});
    this.#sessions[at] = session;
    return session;
  }
}

/** One call, until its stream has closed. */
class Call {
  #status: string | undefined;
  #bytes = 0;
  #problem: string | undefined;

  constructor(stream: ClientHttp2Stream, done: Done) {
    stream.on("response", (headers) => {
      if (headers[":status"] !== constants.HTTP_STATUS_OK) this.#problem = `HTTP status ${headers[":status"]}`;
      this.#read(headers);
    });
    stream.on("trailers", (headers) => this.#read(headers));
    stream.on("data", (chunk: Buffer) => {
      this.#bytes += chunk.length;
    });
    stream.on("error", (error: NodeJS.ErrnoException) => {
      this.#problem ??= problemOf(error);
    });
    stream.on("close", () => done(this.#outcome()));
  }

  #read(headers: { readonly [name: string]: unknown }): void {
    const status = headers["grpc-status"];
    if (typeof status !== "string") return;
    this.#status = status;
    if (status !== "0") this.#problem ??= `gRPC status ${status}: ${messageOf(headers["grpc-message"])}`;
  }

  #outcome(): string | undefined {
    if (this.#problem !== undefined) return this.#problem;
    if (this.#status === undefined) return "the connection ended before the answer";
    return this.#bytes < PREFIX_BYTES ? "an answer without a message" : undefined;
  }
}

/** A stream's own error says only that its connection is over; the reason is its cause. */
function problemOf({ cause, code, message }: NodeJS.ErrnoException): string {
  return systemCode(cause) || (code ?? message);
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
