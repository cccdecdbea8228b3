import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import { AccessPolicy } from "../access/access-policy.ts";
import type { ClientGate } from "../access/client-gate.ts";
import { type ClientKey, readAccountKey } from "../access/client-key.ts";
import { TrustedProxies } from "../access/trusted-proxies.ts";
import { ServingError } from "../errors.ts";
import { ConnectionWatch } from "../http2/connection-watch.ts";
import { Http2Connections } from "../http2/http2-connections.ts";
import { AccessLog, type AccessLogOptions } from "../observability/access-log.ts";
import type { Logger } from "../observability/logger.ts";
import { RequestMetrics } from "../observability/metrics/request-metrics.ts";
import { RequestObserver } from "../observability/request-observer.ts";
import type { RequestTracer } from "../observability/request-tracer.ts";
import { settlesWithin } from "../platform/async/promises.ts";
import { MemoryBudget } from "../platform/limits/memory/memory-budget.ts";
import type { ServerSettings } from "../platform/limits/settings/server-settings.ts";
import { HANDSHAKE_TIMEOUT_MS, LAST_CALL_MS, TRANSPORT_LIMITS } from "../platform/limits/transport-limits.ts";
import { type PortLimit, toAuthority } from "../platform/net/listen.ts";
import { openInTurns } from "../platform/net/open-in-turns.ts";
import { listenShared, type SharedPort, type SharedPortUsers } from "../platform/net/shared-port.ts";
import type { SharedMemory } from "../platform/shared-memory/shared-memory.ts";
import type { InferenceService } from "../serving/inference-service.ts";
import type { PlatformModels } from "../serving/platform-models.ts";
import { type AnswerStream, carryStreams, refuseCalls } from "./carry-streams.ts";
import { HttpError, sendError } from "./http-errors.ts";
import type { AnswersInParts } from "./http-exchange.ts";
import type { CreateHttpProtocol, HttpDependencies } from "./http-route.ts";
import { ObservedRequest, observeRequests } from "./observed-request.ts";
import { limitSilence, OpenExchanges } from "./open-exchanges.ts";
import type { PageSources } from "./page-sources.ts";
import type { Connect } from "./pass-on.ts";
import { createRequestListener } from "./request-listener.ts";
import { refuseGarbage } from "./request-refusal.ts";

/** Address to listen on, limits, and the routes to serve. */
export interface HttpServerOptions {
  readonly host: string;
  /** 0 = any free port; `shared` = it does not listen, connections are passed to {@link HttpServer.accept}. */
  readonly port: number | "shared";
  /** Descriptor of a listening socket, which replaces host and port. */
  readonly fd?: number | undefined;
  /** The protocols; the first one that knows a URL answers it. */
  readonly protocols: readonly { readonly name: string; readonly http?: CreateHttpProtocol }[];
  readonly settings: ServerSettings;
  /**
   * Memory of all requests, shared with other transports. Default: a new budget of twice the largest body.
   */
  readonly memory?: MemoryBudget;
  /** Time for the head of a request, in milliseconds. Default 20 000. */
  readonly handshakeTimeoutMs?: number;
  /** Milliseconds that a client may take for a whole request, its body included. Default 300 000. */
  readonly arrivalTimeoutMs?: number;
  /** Permissions of clients. Default: no client may change the server, and no page of another origin may use it. */
  readonly policy?: AccessPolicy;
  /** Limit of connections, shared with other transports. Default: none. */
  readonly connections?: PortLimit | undefined;
  /** Limits of each client, shared with other transports. Default: none. */
  readonly clients?: ClientGate | undefined;
  /** Gives the key of a client's account. Default: that of its address. */
  readonly accountKey?: ClientKey | undefined;
  /** Gives the address of a request's client behind trusted proxies. Default: the connection's. */
  readonly addressOf?: AccessLogOptions["addressOf"];
  /** Records traces of the requests. Default: there are none. */
  readonly tracer?: RequestTracer | undefined;
  /** Counts the requests, shared with other transports. Default: new ones. */
  readonly metrics?: RequestMetrics | undefined;
  /** Opens a connection to the thread that answers all but requests to models. Default: this one does. */
  readonly passOn?: Connect | undefined;
  /** Port of gRPC, for handlers that need it. */
  readonly grpcPort?: number | undefined;
  /** Models that a platform loads by their folders. Default: no platform does. */
  readonly platform?: PlatformModels | undefined;
  /** True if a platform loads models, which another thread knows. Default false. */
  readonly hasPlatformElsewhere?: boolean | undefined;
  /** Regions that clients of KServe V2 register. Default: they may not. */
  readonly sharedMemory?: SharedMemory | undefined;
  /** Sources of the server's own page. Default: there is no page. */
  readonly page?: PageSources | undefined;
  /** Answers the routes that hooks declare. Default true. */
  readonly hookRoutes?: boolean;
  readonly log: Logger;
}

/** Time for errors and resets of requests that are ended to reach their clients, in milliseconds. */
const FLUSH_GRACE_MS = 200;

/** An HTTP server that listens. */
export interface HttpServer {
  /** `http://host:port`; meaningless with a shared port. */
  readonly url: string;
  readonly port: number;
  /** Takes a connection of HTTP/1 that was accepted elsewhere. */
  accept(socket: Socket): void;
  /** Takes a connection of HTTP/2 that was accepted elsewhere; calls of gRPC are refused there. */
  acceptHttp2(socket: Socket): void;
  /** Answers a request of HTTP/2 whose connection is another server's. */
  readonly answerStream: AnswerStream;
  /**
   * Closes each connection after its next answer, which has `Connection: close`, or sends GOAWAY. Requests are still
   * answered, including those that are already being sent.
   */
  retire(): void;
  /** Takes no new connections, waits `drainTimeoutMs` for running requests, then destroys the connections. */
  close(drainTimeoutMs: number): Promise<void>;
}

/** Serves all HTTP protocols. Throws `unavailable` when it cannot listen. */
export async function createHttpServer(service: InferenceService, options: HttpServerOptions): Promise<HttpServer> {
  const { log, settings, hookRoutes = true } = options;
  const inParts: AnswersInParts = new Set();
  const media = await openMedia(settings);
  const dependencies = { ...toDependencies(service, options, settings), inParts, media };
  const protocols = options.protocols.flatMap(({ name, http }) =>
    http === undefined ? [] : [{ name, ...http(dependencies) }],
  );
  const exchanges = new OpenExchanges();
  const { server, answerStream } = newServer(options, exchanges);
  const { limits, logging } = settings;
  const observer = new RequestObserver(new AccessLog(log, { logging, addressOf: options.addressOf }), {
    ...dependencies,
    logging,
    recent: options.page?.recent,
  });
  limitSilence(server, exchanges, limits);
  server.on("connection", (socket: Socket) => exchanges.connect(socket));
  const answer = createRequestListener(protocols, dependencies, { hookRoutes, connect: options.passOn });
  answerRequests(server, exchanges, { dependencies, answer });
  observeRequests(server, observer);
  refuseGarbage(server, observer, log);
  const connections = openHttp2(options, refuseCalls(answerStream, observer, { grpcPort: options.grpcPort, log }));
  const accept = (socket: Socket) => void server.emit("connection", socket);
  const acceptHttp2 = (socket: Socket) => connections.accept(socket);
  const listener = await open(server, { http1: accept, http2: acceptHttp2 }, options);
  const { port = 0, host = options.host } = listener ?? {};
  let closed: Promise<void> | undefined;
  return {
    url: `http://${toAuthority(host, port)}`,
    port,
    accept,
    acceptHttp2,
    answerStream,
    retire: () => {
      exchanges.retire();
      connections.retire();
    },
    close: (drainTimeoutMs) => {
      closed ??= close({ server, listener, exchanges, connections, inParts }, drainTimeoutMs);
      return closed;
    },
  };
}

/** Undefined if no hosts are listed. */
async function openMedia({ protocols: { fetchMedia } }: ServerSettings): Promise<HttpDependencies["media"]> {
  if (fetchMedia.length === 0) return undefined;
  const { MediaFetcher } = await import("../access/media-fetcher.ts");
  return new MediaFetcher(fetchMedia);
}

function openHttp2({ handshakeTimeoutMs = HANDSHAKE_TIMEOUT_MS }: HttpServerOptions, answer: AnswerStream) {
  const rules = { maxIdleMs: TRANSPORT_LIMITS.keepAliveMs };
  return new Http2Connections(new ConnectionWatch(handshakeTimeoutMs), rules, answer);
}

/** Listens for both versions; undefined if connections are accepted elsewhere. */
async function open(
  server: Server,
  users: Pick<SharedPortUsers, "http1" | "http2">,
  { host, port, fd, connections, handshakeTimeoutMs = HANDSHAKE_TIMEOUT_MS }: HttpServerOptions,
): Promise<SharedPort | undefined> {
  // Node checks for slow requests only once a server listens, which this one never does.
  server.emit("listening");
  if (port === "shared") return undefined;
  const silent = (socket: Socket) => {
    const timeout = Object.assign(new Error("No request has come in time."), { code: "ERR_HTTP_REQUEST_TIMEOUT" });
    server.emit("clientError", timeout, socket);
  };
  return listenShared({ host, port, fd }, { ...users, handshakeTimeoutMs, silent, connections });
}

function toDependencies(
  service: InferenceService,
  options: HttpServerOptions,
  { limits: { maxMessageBytes }, protocols: settings }: ServerSettings,
): HttpDependencies {
  const { log, policy = new AccessPolicy(), memory = new MemoryBudget(2 * maxMessageBytes) } = options;
  const { metrics = new RequestMetrics(), clients, tracer, grpcPort, platform, sharedMemory, page } = options;
  const { accountKey = readAccountKey("address", new TrustedProxies([])), hasPlatformElsewhere } = options;
  const limits = { maxMessageBytes, memory, policy, clients, accountKey };
  const sources = { grpcPort, platform, hasPlatformElsewhere, sharedMemory, page };
  return { service, settings, ...limits, metrics, ...sources, tracer, log };
}

function newServer(
  { handshakeTimeoutMs = HANDSHAKE_TIMEOUT_MS, arrivalTimeoutMs = TRANSPORT_LIMITS.messageMs }: HttpServerOptions,
  exchanges: OpenExchanges,
): { readonly server: Server; readonly answerStream: AnswerStream } {
  const server = createServer({
    // Node's own answer to a missing Host would have no body.
    requireHostHeader: false,
    IncomingMessage: ObservedRequest,
    maxHeaderSize: TRANSPORT_LIMITS.headBytes,
    headersTimeout: Math.min(handshakeTimeoutMs, arrivalTimeoutMs),
    requestTimeout: arrivalTimeoutMs,
    connectionsCheckingInterval: Math.min(handshakeTimeoutMs, arrivalTimeoutMs) / 4,
  });
  // The size of the headers is limited; above a number of headers Node would drop the rest, including a second Host.
  server.maxHeadersCount = 0;
  const answerStream = carryStreams(server, exchanges);
  // After Node's own listener, and in the same turn.
  server.on("connection", (socket: Socket) => exchanges.pace(socket));
  openInTurns(server);
  return { server, answerStream };
}

interface Answering {
  readonly dependencies: HttpDependencies;
  readonly answer: RequestListener;
}

/** Answers requests in the order of their connections; refuses those with an expectation that cannot be met. */
function answerRequests(server: Server, exchanges: OpenExchanges, { dependencies, answer }: Answering): void {
  const { log } = dependencies;
  const add = (request: IncomingMessage, response: ServerResponse) => exchanges.add(request, response, answer);
  server.on("request", add);
  server.on("checkContinue", add);
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    exchanges.add(request, response, () => sendError(unknownExpectation(request), { request, response, log }));
  });
}

function unknownExpectation({ headers }: IncomingMessage): HttpError {
  return new HttpError(417, `Expect: ${headers.expect} cannot be met; send 100-continue, or no such header.`);
}

interface Closing {
  readonly server: Server;
  readonly listener: SharedPort | undefined;
  readonly exchanges: OpenExchanges;
  readonly connections: Http2Connections;
  readonly inParts: AnswersInParts;
}

async function close(closing: Closing, drainTimeoutMs: number): Promise<void> {
  const { server, listener, exchanges, connections, inParts } = closing;
  listener?.close(exchanges.isRetired ? LAST_CALL_MS : 0);
  if (exchanges.isRetired) await setTimeout(LAST_CALL_MS);
  exchanges.drain();
  const closed = Promise.all([exchanges.gone(), connections.drain()]);
  if (!(await settlesWithin(closed, drainTimeoutMs))) {
    if (inParts.size > 0) {
      for (const end of inParts) end(new ServingError("unavailable", "The server ends."));
      await settlesWithin(closed, FLUSH_GRACE_MS);
    }
    exchanges.cut();
    if (!(await settlesWithin(closed, FLUSH_GRACE_MS))) connections.cut();
  }
  await closed;
  // Ends the search for requests that take too long.
  server.close();
}
