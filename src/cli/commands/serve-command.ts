import { toAuthority } from "../../net/authority.ts";
import type { Logger } from "../../observability/logger.ts";
import type { ModelSources } from "../../repository/config-sources.ts";
import type { InheritedSockets } from "../../server/inherited-sockets.ts";
import type { Server } from "../../server/server.ts";
import type { ServerOptions } from "../../server/server-options.ts";
import { probePort } from "../addresses/probe-port.ts";
import { toReachableAddress } from "../addresses/reachable-address.ts";
import { EXIT } from "../exit-codes.ts";
import { startHttpServerCommand } from "../http-server-command/http-server-command.ts";
import { endOnError } from "../lifecycle/end-on-error.ts";
import { takeInheritedSockets } from "../lifecycle/inherited-sockets.ts";
import { prepareRoutes } from "../lifecycle/prepare-routes.ts";
import { reloadOnDemand } from "../lifecycle/reload-on-demand.ts";
import { reopenOnDemand } from "../lifecycle/reopen-on-demand.ts";
import { returnMemory } from "../lifecycle/return-memory.ts";
import { endOnSignal, type Running, runUntilSignal } from "../lifecycle/shutdown.ts";
import { openSystemdReporter } from "../lifecycle/systemd-reporter.ts";
import { tuneHeap } from "../lifecycle/tune-heap.ts";
import { watchMemory } from "../lifecycle/watch-memory.ts";
import { openProgramLog } from "../program-log.ts";
import { ONLY_MODEL_ALIAS } from "../settings/apply-words.ts";
import { type Environment, misspeltVariables } from "../settings/environment.ts";
import type { ServeCommandLine } from "../settings/read-serve-settings.ts";
import type { Settings } from "../settings/settings.ts";
import { chooseReporter } from "../status-reporter/choose-reporter.ts";
import { drawDownloads } from "../status-reporter/draw-downloads.ts";
import { exampleHeading } from "../status-reporter/example-heading.ts";
import { exampleRequest } from "../status-reporter/example-request.ts";
import { joinReporters } from "../status-reporter/join-reporters.ts";
import { openAccessNotice } from "../status-reporter/open-access-notice.ts";
import type { ReadyFacts, StatusReporter } from "../status-reporter/status-reporter.ts";
import { summarizeModels } from "../status-reporter/summarize-models.ts";
import { toModelSources } from "./model-sources.ts";
import { toServerOptions, toServerSettings } from "./server-options.ts";
import { startServer } from "./start-server.ts";

/**
 * `kserving serve`: loads, serves, and resolves with its exit code once it has stopped in good order. `further` also
 * gets its status reports.
 */
export async function serve(
  commandLine: ServeCommandLine,
  env: Environment,
  further: Partial<StatusReporter> = {},
): Promise<number> {
  const { settings, foreign } = commandLine;
  tuneHeap();
  const sources = toModelSources(commandLine);
  const wanted = sources === undefined ? await toServerOptions(commandLine) : toServerSettings(settings);
  const adopted = {
    ...wanted,
    ...(commandLine.words.length > 0 && { alias: ONLY_MODEL_ALIAS }),
    ...(foreign?.password !== undefined && { auth: { ...wanted.auth, password: foreign.password } }),
  };
  const programLog = openProgramLog(settings);
  const { log, terminal } = programLog;
  reopenOnDemand(programLog);
  for (const warning of [...misspeltVariables(env), ...(foreign?.warnings ?? [])]) log.warn(warning);
  if (foreign !== undefined) log.info(foreign.notice);
  const systemd = await openSystemdReporter(process.env, log);
  const sockets = takeInheritedSockets(process.env, log);
  const options = { ...withSockets(adopted, sockets), ...(terminal && { onDownload: drawDownloads(terminal) }) };
  const reporter = chooseReporter(programLog, joinReporters([systemd ?? {}, further]));
  const releaseSignals = endOnSignal();
  await probePorts(settings, sockets);
  reporter.loading(sources === undefined ? (options.stages ?? []) : placesOf(sources));
  const { server, rescan } = await startServer({
    ...{ options, sources, settings, log, platform: foreign?.platform },
    onState: (version) => reporter.changed?.(version),
  });
  const { httpUrl, ...running } = await openFront(server, settings, log);
  const served = await servedFacts(server, sources, settings.name);
  const facts = withPage(toFacts(server, httpUrl, served), settings.ui && server.httpUrl !== undefined);
  const onReload = systemd?.reloading;
  const stopReloading = reloadOnDemand(server, {
    watch: settings.watch,
    onReload,
    log,
    ...(rescan && { rescan }),
  });
  const memory = watchMemory(settings.maxRss, log);
  const stopping = { delayMs: settings.shutdownDelay * 1000, ends: memory.exceeded };
  const stopped = runUntilSignal(running, reporter, stopping).finally(stopReloading);
  releaseSignals();
  endOnError(log, settings.workers === 0);
  const isClosed = settings.tlsClientCa !== undefined && (settings.tlsScope === "ports" || !settings.httpEnable);
  const areKnown = isClosed || options.auth !== undefined;
  const notice = areKnown ? undefined : openAccessNotice(settings.host, settings.allowControl);
  if (notice !== undefined) log.info(notice);
  const { adminUrl, metricsUrl } = server;
  if (adminUrl !== undefined) log.info("administration has a port of its own", { url: adminUrl });
  if (metricsUrl !== undefined) log.info("metrics have a port of their own", { url: metricsUrl });
  // Last, so that a program that waits for this line may send signals and change files.
  reporter.ready(facts);
  if (server.httpUrl !== undefined) prepareRoutes();
  void tellExample(server, facts, reporter);
  returnMemory();
  await stopped;
  return memory.isExceeded ? EXIT.memory : EXIT.ok;
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

interface Front extends Running {
  readonly httpUrl: string | undefined;
}

/** The server, with another program before it where one is asked for. */
async function openFront(server: Server, settings: Settings<"serve">, log: Logger): Promise<Front> {
  const inFlight = () => server.inFlight();
  const retire = () => server.retire();
  if (settings.httpServerCommand === undefined) {
    return { httpUrl: server.httpUrl, inFlight, retire, close: () => server.close() };
  }
  const httpPort = settings.httpPort === 0 ? await probePort(settings.host, 0, "httpPort") : settings.httpPort;
  const grpcAddress = toReachableAddress(server.grpcAddress, "127.0.0.1");
  const program = startHttpServerCommand(settings.httpServerCommand, { grpcAddress, httpPort, log });
  const front = await program.catch(async (reason) => {
    await server.close();
    throw reason;
  });
  const close = async () => {
    await Promise.all([front.close(settings.drainTimeout * 1000), server.close()]);
  };
  return { httpUrl: `http://${toAuthority(settings.host, httpPort)}`, inFlight, retire, close, abandon: front.kill };
}

/** Places of named models: paths, folders of models and configuration files. */
function placesOf({ models = [], named = [], files = [], folders = [] }: ModelSources): { readonly path: string }[] {
  return [...[...named, ...models].flatMap(({ path }) => path ?? []), ...folders, ...files].map((path) => ({ path }));
}

type ServedFacts = Pick<ReadyFacts, "name" | "stages" | "models">;

/** The stages of one pipeline, or the named models; of those, the name of the first that answers. */
async function servedFacts(server: Server, sources: ModelSources | undefined, name: string): Promise<ServedFacts> {
  if (sources === undefined) return { name, stages: server.stages };
  const models = await summarizeModels(server);
  const first = models.find(({ problem }) => problem === "");
  return { stages: [], models, ...(first && { name: first.name }) };
}

function toFacts(server: Server, boundHttpUrl: string | undefined, served: ServedFacts): ReadyFacts {
  const grpcAddress = toReachableAddress(server.grpcAddress);
  const http = boundHttpUrl === undefined ? {} : { httpUrl: toReachableAddress(boundHttpUrl) };
  return { grpcAddress, ...http, ...served };
}

/** A program in place of our HTTP server has no page. */
function withPage({ httpUrl, ...facts }: ReadyFacts, hasPage: boolean): ReadyFacts {
  if (httpUrl === undefined) return facts;
  return { ...facts, httpUrl, ...(hasPage && { pageUrl: `${httpUrl}/ui` }) };
}

/** After all else: trying a model may take its time. */
async function tellExample(server: Server, { name = "", grpcAddress, httpUrl }: ReadyFacts, reporter: StatusReporter) {
  if (reporter.example === undefined || name === "") return;
  const example = await server.exampleInputs();
  if (example === undefined) return;
  // Which requests another program understands is not known here.
  const own = server.httpUrl === undefined || httpUrl === undefined ? {} : { httpUrl };
  const { isEncrypted } = server;
  const line = exampleRequest({ name, inputs: example.inputs, grpcAddress, isEncrypted, ...own });
  reporter.example(exampleHeading(example), line);
}
