import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import { AccessPolicy } from "../access/access-policy.ts";
import type { ClientGate } from "../access/client-gate.ts";
import { type ClientKey, readAccountKey } from "../access/client-key.ts";
import { TrustedProxies } from "../access/trusted-proxies.ts";
import { AccessLog, type AccessLogOptions } from "../observability/access-log.ts";
import type { Logger } from "../observability/logger.ts";
import { RequestMetrics } from "../observability/metrics/request-metrics.ts";
import { RequestObserver } from "../observability/request-observer.ts";
import type { RequestTracer } from "../observability/request-tracer.ts";
import { settlesWithin } from "../platform/async/promises.ts";
import { MemoryBudget } from "../platform/limits/memory/memory-budget.ts";
import type { ServerSettings } from "../platform/limits/settings/server-settings.ts";
import { HANDSHAKE_TIMEOUT_MS, LAST_CALL_MS, TRANSPORT_LIMITS } from "../platform/limits/transport-limits.ts";
import { listen, type PortLimit, toAuthority } from "../platform/net/listen.ts";
import { openInTurns } from "../platform/net/open-in-turns.ts";
import type { SharedMemory } from "../platform/shared-memory/shared-memory.ts";
import type { InferenceService } from "../serving/inference-service.ts";
import type { PlatformModels } from "../serving/platform-models.ts";
import { HttpError, sendError } from "./http-errors.ts";
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

/** An HTTP server that listens. */
export interface HttpServer {
  /** `http://host:port`; meaningless with a shared port. */
  readonly url: string;
  readonly port: number;
  /** Takes a connection that was accepted elsewhere. */
  accept(socket: Socket): void;
  /**
   * Closes each connection after its next answer, which has `Connection: close`. Requests are still answered, including
   * those that are already being sent.
   */
  retire(): void;
  /** Takes no new connections, waits `drainTimeoutMs` for running requests, then destroys the connections. */
  close(drainTimeoutMs: number): Promise<void>;
}

/** Serves all HTTP protocols. Throws `unavailable` when it cannot listen. */
export async function createHttpServer(service: InferenceService, options: HttpServerOptions): Promise<HttpServer> {
  const { log, settings, hookRoutes = true } = options;
  const dependencies = toDependencies(service, options, settings);
  const protocols = options.protocols.flatMap(({ name, http }) =>
    http === undefined ? [] : [{ name, ...http(dependencies) }],
  );
  const exchanges = new OpenExchanges();
  const server = newServer(options, exchanges);
  const { limits, logging } = settings;
  const observer = new RequestObserver(new AccessLog(log, { logging, addressOf: options.addressOf }), {
    ...dependencies,
    logging,
    recent: options.page?.recent,
  });
  limitSilence(server, exchanges, limits);
  server.on("connection", (socket: Socket) => exchanges.connect(socket));
  const listener = createRequestListener(protocols, dependencies, { hookRoutes, connect: options.passOn });
  answerRequests(server, exchanges, { dependencies, listener });
  observeRequests(server, observer);
  refuseGarbage(server, observer, { grpcPort: options.grpcPort, log });
  const { port, host } = await open(server, options);
  let closed: Promise<void> | undefined;
  return {
    url: `http://${toAuthority(host, port)}`,
    port,
    accept: (socket) => void server.emit("connection", socket),
    retire: () => exchanges.retire(),
    close: (drainTimeoutMs) => {
      closed ??= close(server, exchanges, drainTimeoutMs);
      return closed;
    },
  };
}

/** Resolves with the address on which the server listens; port 0 if its connections are accepted elsewhere. */
async function open(server: Server, { host, port, fd, connections }: HttpServerOptions) {
  if (port !== "shared") return listen(server, { host, port, fd }, connections);
  // Node checks for slow requests only once a server listens, which this one never does.
  server.emit("listening");
  return { host, port: 0 };
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
): Server {
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
  // After Node's own listener, and in the same turn.
  server.on("connection", (socket: Socket) => exchanges.pace(socket));
  openInTurns(server);
  return server;
}

interface Answering {
  readonly dependencies: HttpDependencies;
  readonly listener: RequestListener;
}

/** Answers requests in the order of their connections; refuses those with an expectation that cannot be met. */
function answerRequests(server: Server, exchanges: OpenExchanges, { dependencies, listener }: Answering): void {
  const { log } = dependencies;
  const add = (request: IncomingMessage, response: ServerResponse) => exchanges.add(request, response, listener);
  server.on("request", add);
  server.on("checkContinue", add);
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    exchanges.add(request, response, () => sendError(unknownExpectation(request), { request, response, log }));
  });
}

function unknownExpectation({ headers }: IncomingMessage): HttpError {
  return new HttpError(417, `Expect: ${headers.expect} cannot be met; send 100-continue, or no such header.`);
}

async function close(server: Server, exchanges: OpenExchanges, drainTimeoutMs: number): Promise<void> {
  // Not server.close(), which destroys connections whose answer is written but not yet sent.
  const stopped = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  // A server with a shared port never listened, and has no list of connections.
  const closed = Promise.all([stopped, exchanges.gone()]);
  if (exchanges.isRetired) await setTimeout(LAST_CALL_MS);
  exchanges.drain();
  if (!(await settlesWithin(closed, drainTimeoutMs))) exchanges.cut();
  await closed;
  // Ends the search for requests that take too long.
  server.close();
}
