import type { Authentication } from "../access/authentication/authentication.ts";
import { keepFresh, type Refreshable } from "../access/authentication/keep-fresh.ts";
import { endSlowClients } from "../access/end-slow-clients.ts";
import { TlsFiles } from "../access/tls-files.ts";
import { TrustedProxies } from "../access/trusted-proxies.ts";
import { LazyRemote } from "../client/remote/lazy-remote.ts";
import { RemoteCredentials } from "../client/remote/remote-credentials.ts";
import type { Logger } from "../observability/logger.ts";
import type { RequestMetrics } from "../observability/metrics/request-metrics.ts";
import type { KeptRequests } from "../observability/request-log/kept-requests.ts";
import { RequestLogs } from "../observability/request-log/request-logs.ts";
import { openTracing } from "../observability/tracing/open-tracing.ts";
import type { RemoteTlsPaths } from "../pipeline/remote.ts";
import { type LimitSettings, sliceSettings } from "../platform/limits/settings/server-settings.ts";
import { ThreadCounts } from "../platform/limits/thread-counts.ts";
import { wholeEnvironment } from "../platform/machine/start-secrets.ts";
import type { SharedMemory } from "../platform/shared-memory/shared-memory.ts";
import { Executor } from "../serving/executor.ts";
import { RouteClaims } from "../serving/hook-routes.ts";
import type { DescribedModel } from "../serving/inference-service.ts";
import { LocalService } from "../serving/local-service.ts";
import type { ModelManager } from "../serving/model-manager.ts";
import type { RequestRecorder } from "../serving/request-recorder.ts";
import { checkServerOptions } from "./check-server-options.ts";
import { HostedFolders } from "./client-models.ts";
import { GuardedService } from "./guarded-service.ts";
import { LazyStorage } from "./lazy-storage.ts";
import type { ModelSource } from "./model-source.ts";
import { PipelineSource } from "./model-source.ts";
import { NamedModels } from "./named-models.ts";
import { openTransports, prepareTransports, requestMetrics } from "./open-transports.ts";
import { toLoadOptions, toRequestLogDefaults, toTransportOptions, withPage } from "./option-groups.ts";
import { type Server, toServer } from "./running-server.ts";
import { ServedModels } from "./served-models.ts";
import { type ServedVersion, toServedVersion } from "./served-version.ts";
import { type ServerChoices, type ServerOptions, withDefaults } from "./server-options.ts";
import { NO_TRANSPORTS, type TransportOptions } from "./transports.ts";

export type { Server };

/**
 * Loads models and hooks, then listens. Installs no signal handlers and never ends the process.
 * Throws `failed_precondition`, before any port opens, if the only model or its
 * hooks do not load, or none of several.
 */
export async function createServer(options: ServerOptions): Promise<Server> {
  checkServerOptions(options);
  const choices = withDefaults(options);
  const { models } = options;
  return openServer(choices, models === undefined ? new PipelineSource(choices) : new NamedModels(models));
}

/**
 * A server of the models that a source describes; else as {@link createServer}.
 * `onState` is called for the first loads too.
 */
export async function openServer(
  given: ServerChoices,
  source: ModelSource,
  onState: (version: ServedVersion) => void = () => {},
): Promise<Server> {
  const { choices, page } = withPage(given);
  const settings = sliceSettings(choices);
  const { limits, loading } = settings;
  const { drainTimeoutMs, mayBeEmpty, alias, loadedLast, log } = choices;
  const remoteFiles = await openRemoteFiles(choices);
  const remote = new LazyRemote({ ...choices, overload: { minClientRate: limits.minClientRate } });
  const authentication = await openCallerCheck(choices);
  const tracer = choices.tracing ? await openTracing(wholeEnvironment(), log) : undefined;
  const sharedMemory = await openSharedMemory(choices);
  const own = { ...(await openTlsFiles(choices)), sharedMemory, tracer };
  const transports = { ...toTransportOptions(choices, settings, { authentication, page }), ...own };
  const isListening = choices.listen !== false;
  if (isListening) prepareTransports(transports);
  const executor = new Executor({ loading, log });
  const storage = new LazyStorage(choices);
  const served = new ServedModels(source, { loading, executor, alias, loadedLast, mayBeEmpty, log });
  served.manager.onState((status) => onState(toServedVersion(status)));
  const recorder = await openRecorder(choices);
  let service: LocalService | undefined;
  const stops = [...(authentication ? [authentication] : []), ...remoteFiles].map((each) => keepFresh(each, log));
  const closeModels = async () => {
    for (const stop of stops) stop();
    page?.history.stop();
    service?.memory.close();
    sharedMemory?.unregisterAll();
    await recorder.close();
    storage.close();
    await served.close();
    await remote.close();
    await tracer?.close();
  };
  try {
    const held = isListening ? findListeners(choices) : undefined;
    service = createService(served, { limits, recorder, held, log });
    const metrics = isListening ? requestMetrics(transports) : undefined;
    stops.push(forgetGone(served.manager, { service, metrics }));
    await recorder.check();
    const called = { remote, memory: executor.memory, storage, own: service, routes: new RouteClaims() };
    const loading = toLoadOptions(choices, settings, called);
    await served.start(loading, source instanceof PipelineSource);
    const platform = choices.platform && new HostedFolders(choices.platform, served);
    const asked = authentication ? new GuardedService(service) : service;
    const listeners = held && { service, choices, held };
    const opened = isListening
      ? await openTransports(asked, { ...transports, metrics, platform, memory: service.memory, listeners })
      : NO_TRANSPORTS;
    page?.history.start(service);
    served.prepare();
    return toServer({ transports: opened, authentication, service, served, closeModels, drainTimeoutMs });
  } catch (reason) {
    await closeModels();
    throw reason;
  }
}

interface ServiceParts {
  readonly limits: LimitSettings;
  readonly recorder: RequestRecorder;
  /** Memory in which several listeners count what they hold. */
  readonly held: SharedArrayBuffer | undefined;
  readonly log: Logger;
}

function createService(served: ServedModels, { limits, recorder, held, log }: ServiceParts): LocalService {
  const heldElsewhere = held && new ThreadCounts(held, 0);
  const service = new LocalService(served.manager, { limits, heldElsewhere, ...changesOf(served), recorder, log });
  endSlowClients(service.memory, limits.minClientRate, log);
  return service;
}

/**
 * Memory in which several listeners count what they hold; undefined for one, and the
 * log says why if more were wanted.
 */
function findListeners({ listeners, log, ...choices }: ServerChoices): SharedArrayBuffer | undefined {
  const why = listeners === 1 ? "" : whyOneListener(choices);
  if (why === undefined) return ThreadCounts.memoryFor(listeners + 1);
  if (why !== "") log.warn(`one thread listens, not ${listeners} (--listeners): ${why}`);
  return undefined;
}

/** The first versions of Node that open one port several times, by their major version. */
const MINORS: Readonly<Record<number, number>> = { 22: 12, 23: 1 };

/** The reason why only the main thread can listen, whatever was asked for; undefined = more threads can. */
export function whyOneListener(
  { sockets, allowClientShm, grpcSocketOnly }: Pick<ServerOptions, "sockets" | "allowClientShm" | "grpcSocketOnly">,
  { version = process.versions.node, platform = process.platform as string } = {},
): string | undefined {
  if (platform !== "linux") return `${platform} does not spread connections among sockets of one port, as Linux does`;
  if (!opensPortsTwice(version)) return `Node ${version} cannot open one port several times, as 22.12 can`;
  if (sockets?.grpc !== undefined || sockets?.http !== undefined)
    return "a socket that the program was started with can be listened on by one thread";
  if (grpcSocketOnly === true) return "gRPC is served on a Unix socket alone, which one thread can listen on";
  if (allowClientShm) return "the memory that clients share (--allow-client-shm) is known to one thread";
  return undefined;
}

function opensPortsTwice(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > 23 || minor >= (MINORS[major] ?? Number.POSITIVE_INFINITY);
}

/** The ways in which clients change the served models. */
function changesOf(served: ServedModels) {
  return {
    reconfigure: (models: readonly DescribedModel[]) => served.reconfigure(models),
    rescan: () => served.rescan(),
    load: served.loadFor.bind(served),
    unload: served.unload.bind(served),
    loadable: served.loadable.bind(served),
  };
}

/**
 * Certificates and credentials at other servers, to be read again; throws `failed_precondition` for files that cannot
 * be used, before a hook needs them.
 */
async function openRemoteFiles({ remoteTls, remoteAuthFile }: ServerChoices): Promise<readonly Refreshable[]> {
  return [
    ...(remoteTls === undefined ? [] : [await openRemoteTls(remoteTls)]),
    ...(remoteAuthFile === undefined ? [] : [await RemoteCredentials.open(remoteAuthFile)]),
  ];
}

/** Nearly no server needs the code. */
async function openRemoteTls(paths: RemoteTlsPaths): Promise<Refreshable> {
  const { RemoteTlsFiles } = await import("../client/remote/remote-tls-files.ts");
  return new RemoteTlsFiles(paths);
}

/** Separate addresses open the files themselves: each opening reports their changes once. */
async function openTlsFiles({ tls, admin, metrics, host }: ServerChoices): Promise<TlsAddresses> {
  const open = async () => tls && TlsFiles.open(tls);
  return {
    tls: await open(),
    ...(admin && { admin: { host: "127.0.0.1", port: 0, ...admin, tls: await open() } }),
    ...(metrics && { metricsAddress: { host, port: 0, ...metrics, tls: await open() } }),
  };
}

/** Nearly no server keeps requests that end a process. */
async function openRecorder(choices: ServerChoices): Promise<RequestLogs | KeptRequests> {
  const { keepFatalRequests, log } = choices;
  const logs = new RequestLogs(toRequestLogDefaults(choices), log);
  if (keepFatalRequests === undefined) return logs;
  const { KeptRequests } = await import("../observability/request-log/kept-requests.ts");
  return new KeptRequests(keepFatalRequests, logs, log);
}

/** Nearly no server needs the code. */
async function openSharedMemory({ allowClientShm }: ServerChoices): Promise<SharedMemory | undefined> {
  if (!allowClientShm) return undefined;
  const { SharedMemory } = await import("../platform/shared-memory/shared-memory.ts");
  return new SharedMemory();
}

type TlsAddresses = Pick<TransportOptions, "tls" | "admin" | "metricsAddress">;

/** Undefined if callers need no name. */
async function openCallerCheck({ auth, tls, trustedProxies = [] }: ServerChoices): Promise<Authentication | undefined> {
  if (auth === undefined) return undefined;
  const { openAuthentication } = await import("../access/authentication/open-authentication.ts");
  const proxies = new TrustedProxies(trustedProxies);
  return openAuthentication(auth, { proxies, hasCertificates: tls?.clientCa !== undefined });
}

/** Milliseconds for which versions that have ended are gathered. */
const GATHER_MS = 10_000;

/** Counts by version. */
interface Counts {
  readonly service: LocalService;
  /** Absent if HTTP is not served. */
  readonly metrics: RequestMetrics | undefined;
}

/**
 * Forgets what was counted for versions that are gone. Reading the metrics does that too, but nothing may read them.
 * Returns a function that ends it.
 */
export function forgetGone(manager: ModelManager, { service, metrics }: Counts): () => void {
  let timer: NodeJS.Timeout | undefined;
  const forget = async () => {
    timer = undefined;
    service.forgetGone();
    // A thread that ends meanwhile has nothing more to tell.
    await metrics?.gather().catch(() => {});
    metrics?.forget(service.index());
  };
  const stop = manager.onState(({ state }) => {
    if (state === "END") timer ??= setTimeout(() => void forget(), GATHER_MS).unref();
  });
  return () => {
    stop();
    clearTimeout(timer);
  };
}
