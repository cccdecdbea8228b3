import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { ServingError } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";
import type { InferenceService } from "../serving/inference-service.ts";
import { createApp } from "./app.ts";
import { errorBody } from "./http-errors.ts";
import { createInferenceRouter } from "./inference-router.ts";
import { OpenExchanges } from "./open-exchanges.ts";

/** Where and how to listen. */
export interface HttpServerOptions {
  readonly host: string;
  /** 0 picks a free one; `shared` = it does not listen, somebody else gives it connections. */
  readonly port: number | "shared";
  /** The largest body taken, after inflation. Default 256 MB. */
  readonly maxMessageBytes?: number;
  readonly log: Logger;
}

/** An HTTP server that listens. */
export interface HttpServer {
  /** `http://host:port`; of no use with a shared port. */
  readonly url: string;
  readonly port: number;
  /** Takes a connection that somebody else accepted. */
  accept(socket: Socket): void;
  /** Takes no new connections, gives requests under way `drainTimeoutMs` to finish, then cuts them. */
  close(drainTimeoutMs: number): Promise<void>;
}

const DEFAULT_MAX_MESSAGE_BYTES = 256 * 1024 * 1024;

/** Serves all HTTP protocols. Throws `unavailable` when it cannot listen. */
export async function createHttpServer(service: InferenceService, options: HttpServerOptions): Promise<HttpServer> {
  const { host, log, maxMessageBytes = DEFAULT_MAX_MESSAGE_BYTES } = options;
  const dependencies = { service, maxMessageBytes, log };
  const route = createInferenceRouter(dependencies);
  const app = createApp(dependencies);
  const exchanges = new OpenExchanges();
  const server = createServer();
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    exchanges.add(response);
    if (!route(request, response)) app(request, response);
  };
  server.on("connection", (socket: Socket) => exchanges.connect(socket));
  server.on("request", answer);
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    if (!(Number(request.headers["content-length"]) > maxMessageBytes)) response.writeContinue();
    answer(request, response);
  });
  server.on("clientError", refuseGarbage);
  if (options.port !== "shared") await listen(server, host, options.port);
  const port = options.port === "shared" ? 0 : (server.address() as AddressInfo).port;
  let closed: Promise<void> | undefined;
  return {
    url: `http://${hostPort(host, port)}`,
    port,
    accept: (socket) => void server.emit("connection", socket),
    close: (drainTimeoutMs) => {
      closed ??= close(server, exchanges, drainTimeoutMs);
      return closed;
    },
  };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    // Stays: an error of a later connection must not end the process.
    server.on("error", (cause: NodeJS.ErrnoException) => reject(cannotListen(hostPort(host, port), cause)));
    server.listen(port, host, () => resolve());
  });
}

function cannotListen(address: string, cause: NodeJS.ErrnoException): ServingError {
  const isTaken = cause.code === "EADDRINUSE";
  const why = isTaken ? "the port is in use; choose another, or 0 for any free one" : cause.message;
  return new ServingError("unavailable", `Cannot listen on ${address}: ${why}.`, { cause });
}

async function close(server: Server, exchanges: OpenExchanges, drainTimeoutMs: number): Promise<void> {
  // A server that shares its port never listened, and knows nothing of connections.
  const closed = Promise.all([new Promise<void>((resolve) => server.close(() => resolve())), exchanges.gone()]);
  exchanges.drain();
  const cut = setTimeout(() => exchanges.cut(), drainTimeoutMs);
  await closed;
  clearTimeout(cut);
}

/** Statuses for what Node's parser refuses, by the error's code; all else is 400. */
const PARSER_STATUS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
};

/** Answers bytes that are no HTTP request. */
function refuseGarbage(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = PARSER_STATUS[error.code ?? ""] ?? "400 Bad Request";
  const body = errorBody(`This is not a request that the server can read: ${status.slice(4)}.`);
  const head = `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`;
  socket.end(Buffer.concat([Buffer.from(head), body]));
}

function hostPort(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
