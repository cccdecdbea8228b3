import type { Authentication } from "../access/authentication/authentication.ts";
import { openClientGate } from "../access/client-gate.ts";
import { PageToken } from "../access/page-token.ts";
import { TrustedProxies } from "../access/trusted-proxies.ts";
import { KeptThreads } from "../models/threads/kept-threads.ts";
import { SharedThreads } from "../models/threads/shared-threads.ts";
import { LogTail } from "../observability/live/log-tail.ts";
import { RecentRequests } from "../observability/live/recent-requests.ts";
import type { RequestLogDefaults } from "../observability/request-log/request-logs.ts";
import { REQUEST_LOG_DEFAULTS } from "../platform/limits/settings/log-settings.ts";
import type { ServerSettings } from "../platform/limits/settings/server-settings.ts";
import { LiveHistory } from "../proxy/live-history.ts";
import type { PageSources } from "../proxy/page-sources.ts";
import type { RecordedRequests } from "../serving/recorded-request.ts";
import type { LoadOptions } from "../serving/repository/load-servable.ts";
import type { ModelGraph } from "../tensor/signature/model-graph.ts";
import { openClientAccess } from "./client-access.ts";
import { toRequestLog } from "./named-model.ts";
import type { ServerChoices } from "./server-options.ts";
import type { TransportOptions } from "./transports.ts";

/** Settings of hooks and models, and what hooks may call. */
export function toLoadOptions(
  { remoteTls, keysForAll, log }: ServerChoices,
  settings: ServerSettings,
  called: Pick<LoadOptions, "remote" | "own" | "memory" | "routes" | "storage">,
): LoadOptions {
  const { hooks, models, access, limits } = settings;
  const overload = { minClientRate: limits.minClientRate };
  return {
    ...models,
    workers: hooks.workers,
    ...(keysForAll !== undefined && { keysForAll }),
    ...(models.shareThreads && { sharedThreads: new SharedThreads() }),
    keptThreads: new KeptThreads(),
    thread: { ...hooks, remoteTls, remoteAuthFile: access.remoteAuthFile, overload },
    recorded: lazyRecordedRequests(settings),
    ...called,
    log,
  };
}

/** Readers of recorded requests, imported with the first of them. */
function lazyRecordedRequests({ limits, protocols }: ServerSettings): RecordedRequests {
  const load = async () =>
    (await import("../protocols/recorded-requests.ts")).recordedRequests(limits.maxMessageBytes, protocols);
  return {
    readLog: async (bytes, target) => (await load()).readLog(bytes, target),
    readJson: async (body, target) => (await load()).readJson(body, target),
  };
}

/** Settings of request logs for models that have none. */
export function toRequestLogDefaults({ requestLog = {} }: ServerChoices): RequestLogDefaults {
  const { prefix, rate, maxBytes, files } = { ...REQUEST_LOG_DEFAULTS, ...toRequestLog(requestLog) };
  return { prefix, rate, maxBytes, files };
}

/** The settings of both transports, and what decides who may use them. */
export function toTransportOptions(
  { http, sockets, log }: ServerChoices,
  settings: ServerSettings,
  { authentication, page }: TransportParts,
): TransportOptions {
  const { network, limits, access } = settings;
  const proxies = new TrustedProxies(access.trustedProxies);
  return {
    settings,
    host: network.host,
    port: network.port,
    ...(http && { httpPort: http.port ?? 0 }),
    ...(sockets && { sockets }),
    page,
    ...openClientAccess(settings, { proxies, authentication, pageToken: page?.token, log }),
    clients: openClientGate({ ...limits, proxies, log }),
    log,
  };
}

interface TransportParts {
  readonly authentication: Authentication | undefined;
  readonly page: PageSources | undefined;
}

/**
 * The sources of the page, and the options of its server, whose log the page follows;
 * no sources if there is no page.
 */
export function withPage(choices: ServerChoices): {
  readonly choices: ServerChoices;
  readonly page?: PageSources;
} {
  const { ui, http, admin, log } = choices;
  const tail = LogTail.of(log);
  if (!ui || (http === undefined && admin === undefined)) {
    tail.end();
    return { choices };
  }
  const sources = { token: new PageToken(), history: new LiveHistory(), recent: new RecentRequests() };
  return { choices: { ...choices, log: tail.follow(log) }, page: { ...sources, log: tail, readGraph } };
}

async function readGraph(path: string): Promise<ModelGraph> {
  return (await import("../tools/inspection/read-graph.ts")).readGraph(path);
}
