import { useCrashMarks } from "../../models/crash-marks.ts";
import { endWaitingWorker } from "../../models/threads/waiting-worker.ts";
import type { Logger } from "../../observability/logger.ts";
import { setProcessRestarts } from "../../observability/metrics/process-metrics.ts";
import { isChosenProtocol } from "../../platform/limits/settings/protocol-settings.ts";
import { giveBack } from "../../platform/machine/start-secrets.ts";
import type { InheritedSockets } from "../../server/inherited-sockets.ts";
import type { RepositorySource } from "../../server/repository-source.ts";
import type { ServedVersion } from "../../server/served-version.ts";
import type { Server } from "../../server/server.ts";
import type { ServerOptions } from "../../server/server-options.ts";
import type { ModelSources } from "../../serving/repository/config-sources.ts";
import type { PlatformFolder } from "../../serving/repository/formats/sagemaker.ts";
import { probePort } from "../addresses/probe-port.ts";
import { EXIT } from "../exit-codes.ts";
import { openFront } from "../http-server-command/http-server-command.ts";
import { compileSooner } from "../lifecycle/compile-sooner.ts";
import { endOnError } from "../lifecycle/end-process.ts";
import { logExit } from "../lifecycle/own-exit.ts";
import { prepareRoutes } from "../lifecycle/prepare-routes.ts";
import { reloadOnDemand } from "../lifecycle/reload-on-demand.ts";
import { returnMemory } from "../lifecycle/return-memory.ts";
import { endOnSignal, runUntilSignal } from "../lifecycle/shutdown.ts";
import { openSystemdReporter, takeInheritedSockets } from "../lifecycle/systemd-reporter.ts";
import { watchMemory } from "../lifecycle/watch-memory.ts";
import { drawDownloads } from "../live-line.ts";
import { ONLY_MODEL_ALIAS } from "../settings/apply-words.ts";
import type { Environment } from "../settings/environment.ts";
import type { ServeCommandLine } from "../settings/read-serve-settings.ts";
import type { Settings } from "../settings/settings.ts";
import { chooseReporter, joinReporters } from "../status-reporter/choose-reporter.ts";
import { openAccessNotice, readyFacts } from "../status-reporter/ready-facts.ts";
import { reportExample } from "../status-reporter/report-example.ts";
import type { StatusReporter } from "../status-reporter/status-reporter.ts";
import { type Supervised, supervised } from "../supervisor/supervised.ts";
import { toModelSources } from "./model-sources.ts";
import { openLog } from "./open-log.ts";
import { toServerOptions, toServerSettings } from "./to-server-options.ts";

/**
 * `kserving serve`: loads, serves, and resolves with its exit code once it has stopped in good order. `further` also
 * gets its status reports.
 */
export async function serve(
  commandLine: ServeCommandLine,
  env: Environment,
  further: Partial<StatusReporter> = {},
): Promise<number> {
  const { settings, foreign, warnings = [] } = commandLine;
  const hiding = settleMemory();
  const kept = giveBack(settings.hookEnv);
  const sources = toModelSources(commandLine);
  const wanted = await wantedOptions(commandLine, sources);
  const programLog = openLog(settings, env, [...(foreign?.warnings ?? []), ...warnings]);
  const { terminal } = programLog;
  const log = further.watchLog?.(programLog.log) ?? programLog.log;
  logExit(log);
  if (foreign !== undefined) log.info(foreign.notice);
  if (kept.length > 0) log.info(keptNotice(kept));
  const starter = supervised();
  if (starter !== undefined) beginSupervised(starter, log);
  const systemd = await openSystemdReporter(process.env, log);
  const sockets = takeInheritedSockets(process.env, log);
  const options = {
    ...withSockets(withDeath(wanted, starter), sockets),
    ...(terminal && { onDownload: drawDownloads(terminal) }),
  };
  const reporter = chooseReporter(programLog, joinReporters([systemd ?? {}, further]));
  const releaseSignals = endOnSignal();
  await probePorts(settings, sockets);
  reporter.loading(sources === undefined ? (options.stages ?? []) : placesOf(sources));
  await hiding;
  const onState = (version: ServedVersion) => reporter.changed?.(version);
  const { platform, mayBeEmpty } = foreign ?? {};
  const loadedLast = starter?.deadlyModel();
  const wantedServer = { options, sources, settings, platform, mayBeEmpty, loadedLast, log, onState };
  const { server, rescan } = await startServer(wantedServer);
  endWaitingWorker();
  const { httpUrl, ...running } = await openFront(server, settings, log);
  const facts = await readyFacts({ server, httpUrl, sources, settings });
  const reloading = { watch: settings.watch, rescan, onReload: systemd?.reloading, log };
  const stopReloading = reloadOnDemand(server, reloading);
  const memory = watchMemory(settings.maxRss, log);
  const stopping = { delayMs: settings.shutdownDelayMs, ends: memory.exceeded };
  const stopped = runUntilSignal(running, reporter, stopping).finally(stopReloading);
  releaseSignals();
  endOnError(log, settings.workers === 0);
  logAccess(server, settings, { hasAuth: options.auth !== undefined, log });
  starter?.enter("serving");
  // Last, so that a program that waits for this line may send signals and change files.
  reporter.ready(facts);
  if (server.httpUrl !== undefined) prepareRoutes();
  const serves = (protocol: string) => isChosenProtocol(protocol, settings.servedProtocols);
  void reportExample(server, { ...facts, serves }, reporter);
  returnMemory();
  compileSooner();
  await stopped;
  return memory.isExceeded ? EXIT.memory : EXIT.ok;
}

/** Has the system refuse this process's memory to others, and take back what is free, as far as it can. */
export async function settleMemory(): Promise<void> {
  const control = await import("../../platform/native/process-control.ts").catch(() => undefined);
  for (const settle of [control?.hideProcess, control?.keepLessFree]) {
    try {
      settle?.();
    } catch {
      // Not on this system.
    }
  }
}

/** The line of the log for variables that neither hooks nor child processes get. */
export function keptNotice(names: readonly string[]): string {
  return `hooks and child processes do not get ${names.join(", ")}: the server has taken them out of its environment; --hook-env NAME gives one to them`;
}

/** Marks the runs of models for a supervisor, and says why the process before this one died. */
function beginSupervised({ marks, info: { death, deaths } }: Supervised, log: Logger): void {
  if (marks !== undefined) useCrashMarks(marks);
  setProcessRestarts(deaths);
  if (death === undefined) return;
  const { how, models } = death;
  const which = models.length === 0 ? "no model was running" : `while these models ran: ${models.join(", ")}`;
  log.error(`the server's process died (${how}), ${which}; it is started again`, { how, models });
}

/** The options of the server that a command line means; models that it names are no part of them. */
export async function wantedOptions(
  commandLine: ServeCommandLine,
  sources: ModelSources | undefined,
): Promise<ServerOptions> {
  const { settings, foreign, words } = commandLine;
  const options = sources === undefined ? await toServerOptions(commandLine) : toServerSettings(settings);
  return {
    ...options,
    ...(words.length > 0 && { alias: ONLY_MODEL_ALIAS }),
    ...(foreign?.password !== undefined && { auth: { ...options.auth, password: foreign.password } }),
  };
}

/** Adds the models that ran when the process before this one died, to which requests are to be kept. */
function withDeath(options: ServerOptions, starter: Supervised | undefined): ServerOptions {
  const { keepFatalRequests } = options;
  const { models } = starter?.info.death ?? {};
  return keepFatalRequests && models ? { ...options, keepFatalRequests: { ...keepFatalRequests, models } } : options;
}

/** A socket that systemd passes is served without a flag for it. */
function withSockets(options: ServerOptions, sockets: InheritedSockets): ServerOptions {
  const wanted = (["http", "admin", "metrics"] as const).filter(
    (name) => sockets[name] !== undefined && !options[name],
  );
  return { ...options, ...Object.fromEntries(wanted.map((name) => [name, {}])), sockets };
}

/** Ports whose sockets systemd passes are open already. */
async function probePorts(settings: Settings<"serve">, sockets: InheritedSockets): Promise<void> {
  const { host, port, grpcSocketOnly, httpEnable, httpServerCommand, httpPort } = settings;
  const { adminHost, adminPort, metricsHost, metricsPort } = settings;
  const probe = async (name: keyof InheritedSockets, ...place: Parameters<typeof probePort>) => {
    if (sockets[name] === undefined) await probePort(...place);
  };
  if (adminPort !== undefined) await probe("admin", adminHost, adminPort, "adminPort");
  if (metricsPort !== undefined) await probe("metrics", metricsHost, metricsPort, "metricsPort");
  if (!grpcSocketOnly) await probe("grpc", host, port, "port");
  const isShared = httpPort === port && httpServerCommand === undefined && !grpcSocketOnly;
  const hasHttp = httpEnable || httpServerCommand !== undefined;
  if (hasHttp && !isShared) await probe("http", host, httpPort, "httpPort");
}

/** Places of named models: paths, folders of models and configuration files. */
function placesOf({ models = [], named = [], files = [], folders = [] }: ModelSources): { readonly path: string }[] {
  return [...[...named, ...models].flatMap(({ path }) => path ?? []), ...folders, ...files].map((path) => ({ path }));
}

/** Logs who reaches the server, and the ports of which clients may not know. */
function logAccess(
  { adminUrl, metricsUrl }: Server,
  { tlsClientCa, tlsScope, httpEnable, host, allowControl }: Settings<"serve">,
  { hasAuth, log }: { readonly hasAuth: boolean; readonly log: Logger },
): void {
  const needsCertificate = tlsClientCa !== undefined && (tlsScope === "ports" || !httpEnable);
  const notice = needsCertificate || hasAuth ? undefined : openAccessNotice(host, allowControl);
  if (notice !== undefined) log.info(notice);
  if (adminUrl !== undefined) log.info("administration has a port of its own", { url: adminUrl });
  if (metricsUrl !== undefined) log.info("metrics have a port of their own", { url: metricsUrl });
}

/** A server to start. */
interface WantedServer {
  readonly options: ServerOptions;
  /** The named models; undefined = the options have one pipeline. */
  readonly sources: ModelSources | undefined;
  readonly settings: Settings<"serve">;
  /** Folder from which a platform loads models. */
  readonly platform?: PlatformFolder | undefined;
  /** True for a start that goes on if no model has a version yet. */
  readonly mayBeEmpty?: boolean | undefined;
  /** Name of a model that is loaded after all others, which do not wait for it. */
  readonly loadedLast?: string | undefined;
  readonly log: Logger;
  /** Called after each change of a named version's state, from its first load on. */
  readonly onState?: (version: ServedVersion) => void;
}

/** A started server. */
interface StartedServer {
  readonly server: Server;
  /** Scans the descriptions and files of named models again; absent for one pipeline. */
  readonly rescan?: () => Promise<void>;
}

/** Starts a server of one pipeline or of named models; the server is imported here, since that takes its time. */
export async function startServer(wanted: WantedServer): Promise<StartedServer> {
  const { options, sources, settings, platform, mayBeEmpty, loadedLast, log, onState } = wanted;
  const { createServer, openServer } = await import("../../server/server.ts");
  if (sources === undefined) return { server: await createServer({ ...options, log }) };
  const { withDefaults } = await import("../../server/server-options.ts");
  const source = await openSource(sources, settings, log);
  const hosted = platform && { ...platform, options: sources.options };
  const keysForAll = Object.keys(sources.options ?? {});
  const choices = { ...withDefaults({ ...options, log }), platform: hosted, mayBeEmpty, loadedLast, keysForAll };
  const server = await openServer(choices, source, onState);
  return { server, rescan: () => source.rescan() };
}

async function openSource(
  sources: ModelSources,
  { modelControl, loadModel, pollIntervalMs }: Settings<"serve">,
  log: Logger,
): Promise<RepositorySource> {
  const { RepositorySource } = await import("../../server/repository-source.ts");
  const pollMs = modelControl === "poll" || pollIntervalMs < 0 ? pollIntervalMs : 0;
  return new RepositorySource(sources, { pollMs, log, ...(modelControl === "explicit" && { explicit: loadModel }) });
}
