import type { Authentication } from "../../access/authentication/authentication.ts";
import { keepFresh } from "../../access/authentication/keep-fresh.ts";
import type { Caller } from "../../access/caller.ts";
import type { ClientGate } from "../../access/client-gate.ts";
import { type ClientKey, readClientKey } from "../../access/client-key.ts";
import { endSlowClients } from "../../access/end-slow-clients.ts";
import { PageToken } from "../../access/page-token.ts";
import { TlsFiles } from "../../access/tls-files.ts";
import { TrustedProxies } from "../../access/trusted-proxies.ts";
import { LogTail } from "../../observability/live/log-tail.ts";
import { RecentRequests } from "../../observability/live/recent-requests.ts";
import { LogFilter } from "../../observability/log-filter.ts";
import type { Logger } from "../../observability/logger.ts";
import { RequestMetrics } from "../../observability/metrics/request-metrics.ts";
import { openTracing } from "../../observability/tracing/open-tracing.ts";
import { keepTickShape } from "../../platform/async/keep-tick-shape.ts";
import { codecs } from "../../platform/codec-host/codec-pool.ts";
import { MemoryBudget } from "../../platform/limits/memory/memory-budget.ts";
import { ThreadCounts } from "../../platform/limits/thread-counts.ts";
import { sharePorts } from "../../platform/net/listen.ts";
import { carrierSocketOf } from "../../platform/net/node-members.ts";
import { startHeartbeat } from "../../platform/threads/heartbeat.ts";
import { toHostPort } from "../../platform/threads/host-port.ts";
import { RpcClient } from "../../platform/threads/rpc-client.ts";
import { createThreadLogger } from "../../platform/threads/thread-logger.ts";
import { LiveHistory } from "../../proxy/live-history.ts";
import type { PageSources } from "../../proxy/page-sources.ts";
import { openClientAccess } from "../client-access.ts";
import { GuardedService } from "../guarded-service.ts";
import { openTransports } from "../open-transports.ts";
import type { TransportOptions } from "../transports.ts";
import { connectInner } from "./inner-socket.ts";
import {
  ENTER,
  LEAVE,
  type ListenerCommand,
  type ListenerData,
  type ListenerEvent,
  type ListenerOptions,
} from "./listener-messages.ts";
import { ListenerService } from "./listener-service.ts";

/** A thread that listens. */
export interface RunningListener {
  readonly opened: { readonly grpcAddress: string; readonly httpUrl: string | undefined };
  handle(command: ListenerCommand): Promise<void>;
}

/** Opens the transports in this thread, in front of the main thread's service. */
export async function runListener(data: ListenerData, tell: (event: ListenerEvent) => void): Promise<RunningListener> {
  keepTickShape();
  const { options, requests, state } = data;
  startHeartbeat(data.heartbeat);
  sharePorts();
  codecs.share(options.settings.limits.listeners);
  const log = openLog(data, tell);
  const client = new RpcClient(toHostPort(requests), "the main thread");
  const service = new ListenerService(client, state);
  const access = await openAccess(options, log);
  const recent = new RecentRequests((request) => tell({ recent: request }));
  const metrics = options.hasMetrics ? new RequestMetrics() : undefined;
  const tracer = data.sampling && (await openTracing(data.environment, log, data.sampling));
  const transports = await openTransports(access.authentication ? new GuardedService(service) : service, {
    ...(await toTransportOptions(data, { access, client, log })),
    metrics,
    tracer,
    page: access.pageToken && toPage(access.pageToken, recent),
  });
  const close = async (drainTimeoutMs: number) => {
    await transports.close(drainTimeoutMs);
    await tracer?.close();
    tell({ closed: true });
  };
  const handle = async (command: ListenerCommand) => {
    if ("changed" in command) service.changed(command.changed);
    else if ("state" in command) service.update(command.state);
    else if ("look" in command) recent.look();
    else if ("count" in command) tell({ counted: { id: command.count, series: metrics?.take() ?? [] } });
    else if ("retire" in command) transports.retire();
    else await close(command.close);
  };
  const { grpcAddress, httpUrl } = transports;
  return { opened: { grpcAddress, httpUrl }, handle };
}

interface ListenerOwn {
  readonly access: Access;
  readonly client: RpcClient;
  readonly log: Logger;
}

async function toTransportOptions(
  { options, number, inner, held, connections }: ListenerData,
  { access, client, log }: ListenerOwn,
): Promise<TransportOptions> {
  const { maxQueueBytes, clientKey, minClientRate, listeners } = options.settings.limits;
  const memory = new MemoryBudget(maxQueueBytes, new ThreadCounts(held, number), false);
  endSlowClients(memory, minClientRate, log);
  const clientAccess = openClientAccess(options.settings, {
    ...access,
    connections: new ThreadCounts(connections, number),
    log,
  });
  return {
    ...options,
    ...clientAccess,
    log,
    tls: options.tls && (await TlsFiles.open(options.tls)),
    memory,
    clients: options.limitsClients ? new ListenerGate(client, readClientKey(clientKey, access.proxies)) : undefined,
    passOn: (socket, isHttp2) =>
      clientAccess.connections.openInner(carrierSocketOf(socket), listeners, () =>
        connectInner(inner, socket, isHttp2),
      ),
  };
}

/** The page itself is the main thread's, which is told of the requests here. */
function toPage(token: PageToken, recent: RecentRequests): PageSources {
  return { token, recent, history: new LiveHistory(), log: new LogTail() };
}

/** The main thread's log, with the levels that it writes now. */
function openLog(
  { logged, hasFilter }: Pick<ListenerData, "logged" | "hasFilter">,
  tell: (event: ListenerEvent) => void,
): Logger {
  const log = createThreadLogger(logged, (event) => tell({ log: event }));
  return hasFilter ? Object.defineProperty(log, "filter", { value: new LogFilter(logged) }) : log;
}

interface Access {
  readonly proxies: TrustedProxies;
  readonly authentication: Authentication | undefined;
  readonly pageToken: PageToken | undefined;
}

async function openAccess(options: ListenerOptions, log: Logger): Promise<Access> {
  const proxies = new TrustedProxies(options.settings.access.trustedProxies);
  const authentication = await openCallerCheck(options, proxies);
  // The main thread reads the same files, and reports their faults.
  if (authentication !== undefined) keepFresh(authentication, { ...log, info: () => {}, error: () => {} });
  const pageToken = options.pageToken === undefined ? undefined : new PageToken(options.pageToken);
  return { proxies, authentication, pageToken };
}

async function openCallerCheck(
  { auth, tls }: ListenerOptions,
  proxies: TrustedProxies,
): Promise<Authentication | undefined> {
  if (auth === undefined) return undefined;
  const { openAuthentication } = await import("../../access/authentication/open-authentication.ts");
  return openAuthentication(auth, { proxies, hasCertificates: tls?.clientCa !== undefined });
}

/** The main thread's gate, for the calls that a listener answers itself. */
class ListenerGate implements ClientGate {
  readonly #client: RpcClient;
  readonly #key: ClientKey;

  constructor(client: RpcClient, key: ClientKey) {
    this.#client = client;
    this.#key = key;
  }

  async enter(caller: Caller): Promise<() => void> {
    const { meta } = await this.#client.ask({ kind: ENTER, meta: this.#key(caller), tensors: undefined });
    let isOver = false;
    return () => {
      if (!isOver) this.#client.ask({ kind: LEAVE, meta, tensors: undefined }).catch(() => {});
      isOver = true;
    };
  }

  /** Streams are passed on, and paced by the main thread. */
  pace(_caller: Caller, messages: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    return messages;
  }
}
