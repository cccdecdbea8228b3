import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, Server as NetServer, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { AccessPolicy } from "../access/access-policy.ts";
import { HANDSHAKE_TIMEOUT_MS } from "../limits/handshake-timeout.ts";
import { MemoryBudget } from "../limits/memory-budget.ts";
import { openInTurns } from "../limits/open-in-turns.ts";
import { SERVER_DEFAULTS } from "../limits/server-defaults.ts";
import { toAuthority } from "../net/authority.ts";
import { cannotListen } from "../net/cannot-listen.ts";
import { AccessLog } from "../observability/access-log.ts";
import type { Logger } from "../observability/logger.ts";
import type { InferenceService } from "../serving/inference-service.ts";
import { errorBody, HttpError, sendError } from "./http-errors.ts";
import type { CreateHttpProtocol, HttpDependencies, HttpProtocol } from "./http-route.ts";
import { createInferenceRouter } from "./inference-router.ts";
import { limitSilence } from "./limit-silence.ts";
import { OpenExchanges } from "./open-exchanges.ts";
import { logGarbage, logRequests, RecordedRequest } from "./recorded-request.ts";
import { requestRefusal } from "./request-refusal.ts";
import { toOriginForm } from "./to-origin-form.ts";

/** Address to listen on, limits, and the routes to serve. */
export interface HttpServerOptions {
  readonly host: string;
  /** 0 picks a free one; `shared` = it does not listen, somebody else gives it connections. */
  readonly port: number | "shared";
  /** The first one that knows a URL answers it. */
  readonly protocols: readonly { readonly http?: CreateHttpProtocol }[];
  /** The largest body taken, after inflation. Default 256 MB. */
  readonly maxMessageBytes?: number;
  /**
   * Bytes that all requests hold together, shared with other transports. Default: one of its own, of twice the largest
   * body.
   */
  readonly memory?: MemoryBudget;
  /** Milliseconds that a client may take nothing of an answer; 0 = no limit. Default 60 000. */
  readonly sendTimeoutMs?: number;
  /** Milliseconds that a client may take for the head of a request. Default 20 000. */
  readonly handshakeTimeoutMs?: number;
  /** Permissions of clients. Default: no client may change the server, and no page of another origin may use it. */
  readonly policy?: AccessPolicy;
  /** Logs a line for each request. Default false. */
  readonly accessLog?: boolean;
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

/** Serves all HTTP protocols. Throws `unavailable` when it cannot listen. */
export async function createHttpServer(service: InferenceService, options: HttpServerOptions): Promise<HttpServer> {
  const { host, log, maxMessageBytes = SERVER_DEFAULTS.maxMessageBytes } = options;
  const { memory = new MemoryBudget(2 * maxMessageBytes) } = options;
  const { policy = new AccessPolicy() } = options;
  const dependencies = { service, maxMessageBytes, memory, policy, log };
  const protocols = options.protocols.flatMap(({ http }) => (http === undefined ? [] : [http(dependencies)]));
  const route = createInferenceRouter(
    protocols.flatMap(({ inference }) => inference),
    dependencies,
  );
  const app = lazyApp(protocols, dependencies);
  const exchanges = new OpenExchanges();
  const { sendTimeoutMs = SERVER_DEFAULTS.sendTimeoutMs } = options;
  const server = newServer(options.handshakeTimeoutMs ?? HANDSHAKE_TIMEOUT_MS);
  const refuse = (request: IncomingMessage, response: ServerResponse, error: HttpError) => {
    sendError(error, { request, response, log });
  };
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const refusal = requestRefusal(request);
    toOriginForm(request);
    if (refusal !== undefined) refuse(request, response, refusal);
    else if (!route(request, response)) app(request, response);
  };
  limitSilence(server, { exchanges, sendTimeoutMs });
  server.on("connection", (socket: Socket) => exchanges.connect(socket));
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    exchanges.add(request, response, answer);
  });
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    const isTooLarge = Number(request.headers["content-length"]) > maxMessageBytes;
    exchanges.add(request, response, () => {
      if (!isTooLarge && requestRefusal(request) === undefined) response.writeContinue();
      answer(request, response);
    });
  });
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    exchanges.add(request, response, () => refuse(request, response, unknownExpectation(request)));
  });
  const access = new AccessLog(log, options.accessLog === true);
  logRequests(server, access);
  server.on("connect", (_request: IncomingMessage, socket: Duplex) => {
    answerRaw(socket, "405 Method Not Allowed", "CONNECT is not possible here; this is not a proxy.");
    logGarbage(405, access);
  });
  server.on("clientError", (error: ParserError, socket: Duplex) => logGarbage(refuseGarbage(error, socket), access));
  if (options.port !== "shared") await listen(server, host, options.port);
  // Node begins to look for requests that take too long once a server listens, which this one never does.
  else server.emit("listening");
  const port = options.port === "shared" ? 0 : (server.address() as AddressInfo).port;
  let closed: Promise<void> | undefined;
  return {
    url: `http://${toAuthority(host, port)}`,
    port,
    accept: (socket) => void server.emit("connection", socket),
    close: (drainTimeoutMs) => {
      closed ??= close(server, exchanges, drainTimeoutMs);
      return closed;
    },
  };
}

function newServer(handshakeTimeoutMs: number): Server {
  const server = createServer({
    // Node's own answer to a missing Host would have no body.
    requireHostHeader: false,
    IncomingMessage: RecordedRequest,
    headersTimeout: handshakeTimeoutMs,
    connectionsCheckingInterval: handshakeTimeoutMs / 4,
  });
  // Their bytes are limited; of more than a number Node would drop the rest, a second Host included.
  server.maxHeadersCount = 0;
  openInTurns(server);
  return server;
}

/** Express costs a start more than all the rest of this wire, and answers nothing but what is no inference: it is loaded when something of that kind comes. */
function lazyApp(protocols: readonly HttpProtocol[], dependencies: HttpDependencies): RequestListener {
  let app: Promise<RequestListener> | undefined;
  return async (request, response) => {
    app ??= import("./app.ts").then(({ createApp }) => createApp(protocols, dependencies));
    (await app)(request, response);
  };
}

function unknownExpectation({ headers }: IncomingMessage): HttpError {
  return new HttpError(417, `Expect: ${headers.expect} cannot be met; send 100-continue, or no such header.`);
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    // Stays: an error of a later connection must not end the process.
    server.on("error", (cause) => reject(cannotListen(toAuthority(host, port), cause)));
    server.listen(port, host, () => resolve());
  });
}

async function close(server: Server, exchanges: OpenExchanges, drainTimeoutMs: number): Promise<void> {
  // Not server.close(), which destroys connections whose answer is written but not yet sent.
  const stopped = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  // A server that shares its port never listened, and knows nothing of connections.
  const closed = Promise.all([stopped, exchanges.gone()]);
  exchanges.drain();
  const cut = setTimeout(() => exchanges.cut(), drainTimeoutMs);
  await closed;
  clearTimeout(cut);
  // Ends the search for requests that take too long.
  server.close();
}

/** Statuses for what Node's parser refuses, by the error's code; all else is 400. */
const PARSER_STATUS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
};

/** Message of Node's parser for an unknown version; the same code also means a line that does not end well. */
const INVALID_VERSION = "Invalid HTTP version";

type ParserError = NodeJS.ErrnoException & { readonly reason?: string };

/** Answers bytes that are no HTTP request; returns the status, undefined for a connection that is gone. */
function refuseGarbage(error: ParserError, socket: Duplex): number | undefined {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return undefined;
  }
  const isVersion = error.reason === INVALID_VERSION;
  const status = isVersion ? "505 HTTP Version Not Supported" : (PARSER_STATUS[error.code ?? ""] ?? "400 Bad Request");
  answerRaw(socket, status, `This is not a request that the server can read: ${status.slice(4)}.`);
  return Number.parseInt(status, 10);
}

/** Answers where Node has made no response, and closes. */
function answerRaw(socket: Duplex, status: string, message: string): void {
  const body = errorBody(message);
  const head = `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`;
  socket.end(Buffer.concat([Buffer.from(head), body]));
}
