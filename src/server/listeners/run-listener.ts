import { AccessPolicy } from "../../access/access-policy.ts";
import type { Authentication } from "../../access/authentication/authentication.ts";
import { keepFresh } from "../../access/authentication/keep-fresh.ts";
import { readAccountKey, readClientKey } from "../../access/client-key.ts";
import { endSlowClients } from "../../access/end-slow-clients.ts";
import { openConnectionLimit } from "../../access/open-connection-limit.ts";
import { PageToken } from "../../access/page-token.ts";
import { TlsFiles } from "../../access/tls-files.ts";
import { TrustedProxies } from "../../access/trusted-proxies.ts";
import { keepTickShape } from "../../async/keep-tick-shape.ts";
import { codecs } from "../../codec-host/codec-pool.ts";
import { MemoryBudget } from "../../limits/memory/memory-budget.ts";
import { ThreadCounts } from "../../limits/thread-counts.ts";
import { sharePorts } from "../../net/listen.ts";
import { LogTail } from "../../observability/live/log-tail.ts";
import { RecentRequests } from "../../observability/live/recent-requests.ts";
import { LogFilter } from "../../observability/log-filter.ts";
import type { Logger } from "../../observability/logger.ts";
import { RequestMetrics } from "../../observability/metrics/request-metrics.ts";
import type { PageSources } from "../../proxy/page-sources.ts";
import { LiveHistory } from "../../serving/live-history.ts";
import { startHeartbeat } from "../../threads/heartbeat.ts";
import { toHostPort } from "../../threads/host-port.ts";
import { RpcClient } from "../../threads/rpc-client.ts";
import { createThreadLogger } from "../../threads/thread-logger.ts";
import { openTracing } from "../../tracing/open-tracing.ts";
import { GuardedService } from "../guarded-service.ts";
import { openTransports } from "../open-transports.ts";
import type { TransportOptions } from "../transports.ts";
import { connectInner } from "./inner-socket.ts";
import { ListenerGate } from "./listener-gate.ts";
import type { ListenerCommand, ListenerData, ListenerEvent, ListenerSettings } from "./listener-messages.ts";
import { ListenerService } from "./listener-service.ts";

/** A thread that listens. */
export interface RunningListener {
  readonly opened: { readonly grpcAddress: string; readonly httpUrl: string | undefined };
  handle(command: ListenerCommand): Promise<void>;
}

/** Opens the transports in this thread, in front of the main thread's service. */
export async function runListener(data: ListenerData, tell: (event: ListenerEvent) => void): Promise<RunningListener> {
  keepTickShape();
  const { settings, requests, state } = data;
  startHeartbeat(data.heartbeat);
  sharePorts();
  codecs.share(settings.count);
  const log = openLog(data, tell);
  const client = new RpcClient(toHostPort(requests), "the main thread");
  const service = new ListenerService(client, state);
  const access = await openAccess(settings, log);
  const recent = new RecentRequests((request) => tell({ recent: request }));
  const metrics = settings.hasMetrics ? new RequestMetrics() : undefined;
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
  { settings, number, inner, held, connections }: ListenerData,
  { access, client, log }: ListenerOwn,
): Promise<TransportOptions> {
  const { maxQueueBytes, maxConnections, limitsClients, clientKey } = settings;
  const { policy, proxies } = access;
  const key = readClientKey(clientKey, proxies);
  const memory = new MemoryBudget(maxQueueBytes, new ThreadCounts(held, number), false);
  endSlowClients(memory, settings.minClientRate, log);
  return {
    ...settings,
    grpcSocketOnly: false,
    policy,
    log,
    tls: settings.tls && (await TlsFiles.open(settings.tls)),
    memory,
    connections: openConnectionLimit(maxConnections, log, new ThreadCounts(connections, number)),
    clients: limitsClients ? new ListenerGate(client, key) : undefined,
    accountKey: readAccountKey(clientKey, proxies),
    addressOf: proxies.clientAddress.bind(proxies),
    passOn: (socket, isHttp2) => connectInner(inner, socket, isHttp2),
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
  readonly policy: AccessPolicy;
  readonly proxies: TrustedProxies;
  readonly authentication: Authentication | undefined;
  readonly pageToken: PageToken | undefined;
}

async function openAccess(settings: ListenerSettings, log: Logger): Promise<Access> {
  const { allowControl, corsOrigins } = settings;
  const proxies = new TrustedProxies(settings.trustedProxies);
  const authentication = await openCallerCheck(settings, proxies);
  // The main thread reads the same files, and says what is wrong.
  if (authentication !== undefined) keepFresh(authentication, { ...log, info: () => {}, error: () => {} });
  const pageToken = settings.pageToken === undefined ? undefined : new PageToken(settings.pageToken);
  const policy = new AccessPolicy({ allowControl, corsOrigins, authentication, proxies, pageToken });
  return { policy, proxies, authentication, pageToken };
}

async function openCallerCheck(
  { auth, tls }: ListenerSettings,
  proxies: TrustedProxies,
): Promise<Authentication | undefined> {
  if (auth === undefined) return undefined;
  const { openAuthentication } = await import("../../access/authentication/open-authentication.ts");
  return openAuthentication(auth, { proxies, hasCertificates: tls?.clientCa !== undefined });
}
