import { AccessPolicy } from "../access/access-policy.ts";
import type { Authentication } from "../access/authentication/authentication.ts";
import { readAccountKey } from "../access/client-key.ts";
import { openClientGate } from "../access/open-client-gate.ts";
import { openConnectionLimit } from "../access/open-connection-limit.ts";
import { TrustedProxies } from "../access/trusted-proxies.ts";
import { REQUEST_LOG_DEFAULTS } from "../limits/server-defaults.ts";
import { SharedThreads } from "../model-host/threads/shared-threads.ts";
import type { PageSources } from "../proxy/page-sources.ts";
import type { LoadOptions } from "../repository/load-servable.ts";
import type { RequestLogDefaults } from "../request-log/request-logs.ts";
import type { ModelMemory } from "../serving/model-memory.ts";
import type { RecordedRequests } from "../serving/recorded-request.ts";
import { toRequestLog } from "./named-model.ts";
import type { ServedModelsOptions } from "./served-models.ts";
import type { ServerChoices } from "./server-options.ts";
import type { TransportOptions } from "./transports.ts";

/** Settings of hooks and models, and what hooks may call. */
export function toLoadOptions(
  choices: ServerChoices,
  called: Pick<LoadOptions, "remote" | "own" | "memory" | "routes" | "storage">,
): LoadOptions {
  const { workers, instances, isolate, threads, modelStallMs, log, hookTimeoutMs, keysForAll } = choices;
  const { savedModelWarmup, versionBatching, archiveHooks } = choices;
  const { hookStallMs: stallMs, hookMemoryMb: memoryMb, inspectHooks: inspect } = choices;
  const thread = {
    hookTimeoutMs,
    stallMs,
    memoryMb,
    inspect,
    remoteTls: choices.remoteTls,
    remoteAuthFile: choices.remoteAuthFile,
  };
  const recorded = lazyRecordedRequests(choices);
  return {
    workers,
    instances,
    isolate,
    modelStallMs,
    savedModelWarmup,
    versionBatching,
    archiveHooks,
    ...(threads !== undefined && { threads }),
    ...(keysForAll !== undefined && { keysForAll }),
    ...(choices.shareThreads && { sharedThreads: new SharedThreads() }),
    thread,
    recorded,
    ...called,
    log,
  };
}

/** Readers of recorded requests, imported with the first of them. */
function lazyRecordedRequests({ maxMessageBytes, checkMethodNames }: ServerChoices): RecordedRequests {
  const load = async () =>
    (await import("../protocols/recorded-requests.ts")).recordedRequests(maxMessageBytes, checkMethodNames);
  return {
    readLog: async (bytes, target) => (await load()).readLog(bytes, target),
    readJson: async (body, target) => (await load()).readJson(body, target),
  };
}

/** Limits of loading. */
export function toManagerOptions(choices: ServerChoices, memory: ModelMemory): ServedModelsOptions["manager"] {
  const { loadTimeoutMs: timeoutMs, loadRetries: retries, loadRetryMs: retryMs, loadThreads: threads } = choices;
  const { strictReadiness, allowLabelsForUnavailable, idleUnloadMs, alias, loadedLast: last } = choices;
  const loading = { timeoutMs, retries, retryMs, threads, idleUnloadMs, memory };
  return { ...loading, strictReadiness, allowLabelsForUnavailable, alias, last };
}

/** Settings of request logs where a model has none of its own. */
export function toRequestLogDefaults({ requestLog = {} }: ServerChoices): RequestLogDefaults {
  const { prefix, rate, maxBytes, files } = { ...REQUEST_LOG_DEFAULTS, ...toRequestLog(requestLog) };
  return { prefix, rate, maxBytes, files };
}

/** Addresses, and the settings of both transports. */
export function toTransportOptions(
  choices: ServerChoices,
  {
    authentication,
    page,
  }: { readonly authentication?: Authentication | undefined; readonly page?: PageSources | undefined },
): TransportOptions {
  const { host, port, http, maxMessageBytes, sendTimeoutMs, log, accessLog, serverTiming } = choices;
  const { tensorContent, requireModelSpec, checkMethodNames, ignoreUnknownOutputs } = choices;
  const httpPort = http && { httpPort: http.port ?? 0 };
  const { grpcSocketPath, grpcSocketTakeover = false, grpcSocketOnly = false, grpcChannelArguments = [] } = choices;
  const socket = grpcSocketPath !== undefined && { grpcSocketPath };
  const proxies = new TrustedProxies(choices.trustedProxies ?? []);
  const policy = new AccessPolicy({ ...choices, authentication, proxies, pageToken: page?.token });
  const { tensorflowMetricsPath, simpleTensorflowServing, kserveRoutes, openvinoMetadata } = choices;
  const paths = { tensorflowMetricsPath, simpleTensorflowServing, kserveRoutes, openvinoMetadata };
  const rules = { requireModelSpec, checkMethodNames, ignoreUnknownOutputs };
  const answers = { tensorContent, ...rules, ...paths, maxMessageBytes, sendTimeoutMs };
  const connections = openConnectionLimit(choices.maxConnections, log);
  const clients = openClientGate({ ...choices, proxies });
  const accountKey = readAccountKey(choices.clientKey, proxies);
  const logs = { accessLog, serverTiming, addressOf: proxies.clientAddress.bind(proxies), log };
  const grpc = { ...socket, grpcSocketTakeover, grpcSocketOnly, grpcChannelArguments };
  const limits = { connections, clients, accountKey };
  const sockets = choices.sockets && { sockets: choices.sockets };
  return { ...grpc, host, port, ...httpPort, ...sockets, ...answers, page, policy, ...limits, ...logs };
}
