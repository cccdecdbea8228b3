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
import type { RecentRequests } from "../observability/live/recent-requests.ts";
import type { Logger } from "../observability/logger.ts";
import type { RequestMetrics } from "../observability/metrics/request-metrics.ts";
import { RequestObserver } from "../observability/request-observer.ts";
import type { RequestTracer } from "../observability/request-tracer.ts";
import { MemberList } from "../platform/async/member-list.ts";
import { settlesWithin } from "../platform/async/promises.ts";
import type { ConnectionLimit } from "../platform/limits/connection-limit.ts";
import { MemoryBudget } from "../platform/limits/memory/memory-budget.ts";
import { MemoryPool } from "../platform/limits/memory/memory-pool.ts";
import type { ServerSettings } from "../platform/limits/settings/server-settings.ts";
import { HANDSHAKE_TIMEOUT_MS, LAST_CALL_MS, TRANSPORT_LIMITS } from "../platform/limits/transport-limits.ts";
import { toAuthority } from "../platform/net/listen.ts";
import { listenShared, type SharedPort } from "../platform/net/shared-port.ts";
import type { SharedMemory } from "../platform/shared-memory/shared-memory.ts";
import type { InferenceService } from "../serving/inference-service.ts";
import { type Answering, answerStream, type NamedRoute } from "./answer-stream.ts";
import type { CallContext } from "./call-context.ts";
import { type ChannelRules, readChannelArguments } from "./connection-rules.ts";
import type { GrpcCall } from "./grpc-call.ts";
import type { CreateGrpcProtocol, GrpcProtocol } from "./grpc-route.ts";
import { MessageClock } from "./message-clock.ts";
import { CallPasser } from "./pass-on.ts";
import { refuseHttp1 } from "./refuse-http1.ts";
import { SendWatch } from "./send-watch.ts";

/** Address to listen on, limits, and the methods to serve. */
export interface GrpcServerOptions {
  readonly host: string;
  /** 0 = any free port; `shared` = it does not listen, connections are passed to {@link GrpcServer.accept}. */
  readonly port: number | "shared";
  /** Descriptor of a listening socket, which replaces host and port. */
  readonly fd?: number | undefined;
  readonly protocols: readonly { readonly name: string; readonly grpc?: CreateGrpcProtocol }[];
  readonly settings: ServerSettings;
  /** Memory of all requests, shared with other transports. Default: a new budget of twice the largest message. */
  readonly memory?: MemoryBudget;
  /** Time in which a message must arrive, in milliseconds. Default 300 000. */
  readonly messageTimeoutMs?: number;
  /** Regions that clients of KServe V2 register. Default: they may not. */
  readonly sharedMemory?: SharedMemory | undefined;
  /** Time for a client to set up a connection, and to answer a ping, in milliseconds. Default 20 000. */
  readonly handshakeTimeoutMs?: number;
  /** Finds the port of HTTP, for the error to clients that send HTTP/1 to this port. Default: there is none. */
  readonly findHttpPort?: () => number | undefined;
  /** Limits on connections as gRPC's channel arguments, `KEY=VALUE`. Default: none. */
  readonly channelArguments?: readonly string[];
  /** Permissions of clients. Default: no client may change the server. */
  readonly policy?: AccessPolicy;
  /** Limit of connections, shared with other transports. Default: none. */
  readonly connections?: ConnectionLimit | undefined;
  /** Limits of each client, shared with other transports. Default: none. */
  readonly clients?: ClientGate | undefined;
  /** Gives the key of a client's account. Default: that of its address. */
  readonly accountKey?: ClientKey | undefined;
  /** Gives the address of a request's client behind trusted proxies. Default: the connection's. */
  readonly addressOf?: AccessLogOptions["addressOf"];
  /** Records traces of the calls. Default: there are none. */
  readonly tracer?: RequestTracer | undefined;
  /** Keeps the last requests for the page. Default: none are kept. */
  readonly recent?: RecentRequests | undefined;
  /** Answers requests of HTTP/2 that are no calls. Default: they are refused. */
  readonly answerOther?: Answering["answerOther"];
  /** Opens a connection to the thread that answers all calls but single requests to models. Default: this one does. */
  readonly passOn?: ((client: Socket) => Socket) | undefined;
  /** Counts the calls. Default: they are not counted. */
  readonly metrics?: RequestMetrics | undefined;
  readonly log: Logger;
}

/** A gRPC server that listens. */
export interface GrpcServer {
  /** `host:port`; meaningless with a shared port. */
  readonly address: string;
  readonly port: number;
  /** Takes a connection that was accepted elsewhere: HTTP/2 without TLS. */
  accept(socket: Socket): void;
  /** Sends GOAWAY, so that clients open other connections, and still answers; new connections are served as usual. */
  retire(): void;
  /** Refuses new calls, waits `drainTimeoutMs` for running ones, and ends the rest with `unavailable`. */
  close(drainTimeoutMs: number): Promise<void>;
}

/** Time for the statuses of ended calls to reach their clients, in milliseconds. */
const FLUSH_GRACE_MS = 200;
/** The error of calls that the shutdown ends. */
const SHUTTING_DOWN = new ServingError("unavailable", "The server is shutting down.");

/** Serves protocols over gRPC. Throws `unavailable` when it cannot listen. */
export async function createGrpcServer(service: InferenceService, options: GrpcServerOptions): Promise<GrpcServer> {
  const { host, log, settings } = options;
  const rules = readChannelArguments(options.channelArguments ?? [], log);
  const context = toCallContext(options, settings, rules);
  const { maxMessageBytes, observer } = context;
  const { handshakeTimeoutMs = HANDSHAKE_TIMEOUT_MS, findHttpPort = () => undefined } = options;
  const { connections: limit } = options;
  const connections = new Http2Connections(new ConnectionWatch(handshakeTimeoutMs, rules), rules, (stream, head) =>
    answerStream(stream, head, answering),
  );
  const accept = (socket: Socket) => connections.accept(socket);
  const users = { http2: accept, http1: refuseHttp1({ findHttpPort, log }), handshakeTimeoutMs, connections: limit };
  const listener =
    options.port === "shared" ? undefined : await listenShared({ host, port: options.port, fd: options.fd }, users);
  const { sharedMemory, tracer, metrics } = options;
  const given = { settings: settings.protocols, sharedMemory, tracer, metrics, log };
  const protocolOptions = { maxMessageBytes, observer, ...given };
  const protocols = options.protocols.flatMap(({ name, grpc }) =>
    grpc === undefined ? [] : [{ name, ...grpc(service, protocolOptions) }],
  );
  const routes = nameRoutes(protocols);
  const openCalls = new MemberList<GrpcCall>();
  const passer = options.passOn && new CallPasser(options.passOn, context);
  const answering = { routes, context, openCalls, passer, answerOther: options.answerOther };
  const { host: boundHost = host, port = 0 } = listener ?? {};
  let closed: Promise<void> | undefined;
  let graceMs = 0;
  return {
    address: toAuthority(boundHost, port),
    port,
    accept,
    retire: () => {
      graceMs = LAST_CALL_MS;
      connections.retire();
    },
    close(drainTimeoutMs) {
      closed ??= close({ listener, protocols, openCalls, connections, graceMs }, drainTimeoutMs);
      return closed;
    },
  };
}

function toCallContext(
  options: GrpcServerOptions,
  { limits: own, logging }: ServerSettings,
  rules: ChannelRules,
): CallContext {
  const { log, messageTimeoutMs = TRANSPORT_LIMITS.messageMs } = options;
  const maxMessageBytes = Math.min(own.maxMessageBytes, rules.maxMessageBytes ?? own.maxMessageBytes);
  const { policy = new AccessPolicy(), memory = new MemoryBudget(2 * maxMessageBytes) } = options;
  const clock = new MessageClock(messageTimeoutMs);
  const sends = new SendWatch(own.sendTimeoutMs);
  const observer = new RequestObserver(new AccessLog(log, { logging, addressOf: options.addressOf }), {
    ...options,
    logging,
  });
  const { clients, accountKey = readAccountKey("address", new TrustedProxies([])) } = options;
  const limits = { maxMessageBytes, memory, messageTimeoutMs, clock, sends, clients, accountKey };
  return { ...limits, pool: new MemoryPool(), policy, observer, log };
}

type NamedProtocol = GrpcProtocol & { readonly name: string };

function nameRoutes(protocols: readonly NamedProtocol[]): ReadonlyMap<string, NamedRoute> {
  const named = protocols.flatMap(({ name: protocol, routes }) =>
    Object.entries(routes).map(([method, route]): [string, NamedRoute] => [
      method,
      { route, name: { protocol, method } },
    ]),
  );
  return new Map(named);
}

interface Closing {
  readonly listener: SharedPort | undefined;
  readonly protocols: readonly GrpcProtocol[];
  readonly openCalls: MemberList<GrpcCall>;
  readonly connections: Http2Connections;
  /** Time for calls of connections that came last, in milliseconds. */
  readonly graceMs: number;
}

async function close(closing: Closing, drainTimeoutMs: number): Promise<void> {
  const { listener, protocols, openCalls, connections, graceMs } = closing;
  listener?.close(graceMs);
  for (const protocol of protocols) protocol.shutDown?.();
  if (graceMs > 0) {
    connections.retire();
    await setTimeout(graceMs);
  }
  const drained = connections.drain();
  if (await settlesWithin(drained, drainTimeoutMs)) return;
  for (const call of openCalls.list()) call.giveUp(SHUTTING_DOWN, SHUTTING_DOWN);
  if (await settlesWithin(drained, FLUSH_GRACE_MS)) return;
  connections.cut();
  await settlesWithin(drained, FLUSH_GRACE_MS);
}
