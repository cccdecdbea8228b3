import { findDriver } from "../../drivers/registry.ts";
import { invalidArgument } from "../../errors.ts";
import type { ArchiveHooks } from "../../repository/archive-hooks.ts";
import { type ModelFlag, pairModels } from "../../repository/stage.ts";
import type { ServerOptions } from "../../server/server-options.ts";
import type { ListedFlag } from "../settings/flag-parser.ts";
import { parseOptionFlags } from "../settings/parse-option-flags.ts";
import type { ParsedCommandLine } from "../settings/parse-settings.ts";
import type { Settings } from "../settings/settings.ts";
import { toRemoteTls, toTlsPaths } from "./tls-options.ts";
import { toAuth } from "./to-auth.ts";

/**
 * Translates a command line for `createServer`. Throws for a driver that does not exist, and `invalid_argument` where
 * drivers, paths and stages do not fit each other.
 */
export async function toServerOptions({ settings, listed }: ParsedCommandLine<"serve">): Promise<ServerOptions> {
  // First, since a misspelt null would look like a driver that lacks its path.
  await Promise.all(settings.driver.filter(isBareName).map(findDriver));
  const models = pairModels(listed.filter(isModelFlag));
  const { shared, stages } = parseOptionFlags(settings.option, models.length);
  return {
    ...toServerSettings(settings),
    stages: models.map((model, index) => ({ ...model, options: stages[index] ?? {} })),
    options: shared,
    name: settings.name,
    ...(settings.hooks !== undefined && { hooks: settings.hooks }),
    ...(settings.warmup.length > 0 && { warmup: settings.warmup }),
  };
}

/**
 * Translates settings that say how a server runs, whatever it serves; throws
 * `invalid_argument` for addresses that do not go together.
 */
export function toServerSettings(settings: Settings<"serve">): ServerOptions {
  checkAddresses(settings);
  const hasOwnHttp = settings.httpEnable && settings.httpServerCommand === undefined;
  return {
    host: settings.host,
    port: settings.port,
    ...(settings.grpcSocketPath !== undefined && { grpcSocketPath: settings.grpcSocketPath }),
    grpcSocketTakeover: settings.grpcSocketTakeover,
    grpcSocketOnly: settings.grpcSocketOnly,
    grpcChannelArguments: settings.grpcChannelArguments,
    maxMessageBytes: settings.maxMessageBytes,
    tensorContent: settings.tensorContent,
    requireModelSpec: settings.requireModelSpec,
    checkMethodNames: settings.checkMethodNames,
    ignoreUnknownOutputs: settings.ignoreUnknownOutputs,
    allowClientShm: settings.allowClientShm,
    tensorflowMetricsPath: settings.tensorflowMetricsPath,
    simpleTensorflowServing: settings.simpleTensorflowServing,
    kserveRoutes: settings.kserveRoutes,
    openvinoMetadata: settings.openvinoMetadata,
    ui: settings.ui,
    allowControl: settings.allowControl,
    accessLog: settings.accessLog,
    serverTiming: settings.serverTiming,
    tracing: true,
    corsOrigins: settings.corsOrigin,
    drainTimeoutMs: settings.drainTimeout * 1000,
    ...hosting(settings),
    ...loading(settings),
    requestLog: {
      ...(settings.requestLog !== undefined && { prefix: settings.requestLog }),
      rate: settings.requestLogRate,
      maxBytes: settings.requestLogMaxSize,
      files: settings.requestLogFiles,
    },
    ...(settings.keepFatalRequests !== undefined && { keepFatalRequests: { folder: settings.keepFatalRequests } }),
    ...toTls(settings),
    ...toAuth(settings),
    ...(settings.adminPort !== undefined && { admin: { host: settings.adminHost, port: settings.adminPort } }),
    ...(settings.metricsPort !== undefined && {
      metrics: { host: settings.metricsHost, port: settings.metricsPort },
    }),
    ...toRemoteTls(settings),
    ...(settings.remoteAuthFile !== undefined && { remoteAuthFile: settings.remoteAuthFile }),
    ...(hasOwnHttp && { http: { port: settings.httpPort } }),
  };
}

function toTls(settings: Settings<"serve">): Pick<ServerOptions, "tls"> {
  const { tlsCert: cert, tlsKey: key, tlsClientCa: clientCa, tlsScope: scope } = settings;
  if (cert === undefined || key === undefined) return {};
  return { tls: { cert, key, scope, ...(clientCa !== undefined && { clientCa }) } };
}

/** The options that say how models are loaded. */
function loading(settings: Settings<"serve">): Partial<ServerOptions> {
  return {
    loadThreads: settings.loadThreads,
    idleUnloadMs: settings.idleUnload * 1000,
    modelMemoryBytes: settings.modelMemory,
    memoryCheck: settings.memoryCheck,
    ...(settings.modelCache !== undefined && { modelCache: settings.modelCache }),
    archiveHooks: settings.archiveHooks as ArchiveHooks,
    modelCacheBytes: settings.modelCacheSize,
    storagePollMs: settings.storagePollInterval * 1000,
    loadTimeoutMs: settings.loadTimeout * 1000,
    loadRetries: settings.loadRetries,
    loadRetryMs: settings.loadRetryInterval * 1000,
    strictReadiness: settings.strictReadiness,
    failFast: settings.failFast,
    allowLabelsForUnavailable: settings.allowPendingLabels,
  };
}

/** The options that say how hooks, models and their queues are run. */
function hosting(settings: Settings<"serve">): Partial<ServerOptions> {
  return {
    workers: settings.workers,
    instances: settings.instances,
    isolate: settings.isolate,
    ...(settings.threads !== undefined && { threads: settings.threads }),
    hookTimeoutMs: settings.hookTimeout * 1000,
    hookStallMs: settings.hookStall * 1000,
    hookMemoryMb: settings.hookMemory,
    inspectHooks: settings.inspectHooks,
    modelStallMs: settings.modelStall * 1000,
    savedModelWarmup: settings.savedModelWarmup,
    versionBatching: settings.versionBatching,
    shareThreads: settings.shareThreads,
    maxQueue: settings.maxQueue,
    poisonRequests: settings.poisonRequests,
    maxQueueBytes: settings.maxQueueBytes,
    maxConnections: settings.maxConnections,
    listeners: settings.listeners,
    ...toClientOptions(settings),
    requestTimeoutMs: settings.requestTimeout * 1000,
    sendTimeoutMs: settings.sendTimeout * 1000,
    minClientRate: settings.minClientRate,
  };
}

/** The options that limit each client. */
export function toClientOptions(settings: Settings<"serve"> | Settings<"proxy">) {
  const { clientKey, clientRate, clientBurst, clientMaxInFlight, trustedProxies } = settings;
  return {
    clientKey,
    clientRate,
    ...(clientBurst !== undefined && { clientBurst }),
    clientMaxInFlight,
    trustedProxies,
  };
}

/** Checks for a flag that names a model or its driver. */
export function isModelFlag(flag: ListedFlag): flag is ModelFlag {
  return flag.flag === "driver" || flag.flag === "model-path";
}

/** Not a path to a driver file, which is better compiled only once. */
function isBareName(driver: string): boolean {
  return !/[./\\]/.test(driver);
}

/** Throws `invalid_argument`, with the flags, for ports, sockets and certificates that do not go together. */
function checkAddresses(settings: Settings<"serve">): void {
  const { grpcSocketOnly, grpcSocketPath, httpServerCommand } = settings;
  if (grpcSocketOnly && grpcSocketPath === undefined)
    throw invalidArgument("--grpc-socket-only lacks the path of the socket, --grpc-socket-path.");
  if (grpcSocketOnly && httpServerCommand !== undefined)
    throw invalidArgument("--grpc-socket-only does not go with --http-server-command, whose program needs a port.");
  if (!/^\/[\x21-\x7e]+$/.test(settings.tensorflowMetricsPath))
    throw invalidArgument(
      `--tensorflow-metrics-path is "${settings.tensorflowMetricsPath}"; expected a path that begins with /.`,
    );
  checkTls(settings);
}

function checkTls(settings: Settings<"serve">): void {
  if (toTlsPaths(settings) === undefined) return;
  const { tlsScope, httpServerCommand } = settings;
  if (httpServerCommand !== undefined)
    throw invalidArgument("--tls-cert does not go with --http-server-command, whose program speaks plain gRPC.");
  const { httpEnable, httpPort, port, grpcSocketOnly } = settings;
  if (tlsScope === "grpc" && httpEnable && !grpcSocketOnly && port !== 0 && httpPort === port)
    throw invalidArgument(
      `gRPC and HTTP share the port ${port}; with --tls-scope grpc, which encrypts one of them, expected two ports.`,
    );
}
