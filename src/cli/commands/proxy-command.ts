import type { Socket } from "node:net";
import { keepFresh } from "../../access/authentication/keep-fresh.ts";
import { openAuthentication } from "../../access/authentication/open-authentication.ts";
import { openClientGate } from "../../access/client-gate.ts";
import { endSlowClients } from "../../access/end-slow-clients.ts";
import { TlsFiles, type TlsPaths } from "../../access/tls-files.ts";
import { TrustedProxies } from "../../access/trusted-proxies.ts";
import { RemoteCredentials } from "../../client/remote/remote-credentials.ts";
import { RemoteTlsFiles } from "../../client/remote/remote-tls-files.ts";
import { LogTail } from "../../observability/live/log-tail.ts";
import type { Logger } from "../../observability/logger.ts";
import { openTracing } from "../../observability/tracing/open-tracing.ts";
import { keepTickShape } from "../../platform/async/keep-tick-shape.ts";
import { MemoryBudget } from "../../platform/limits/memory/memory-budget.ts";
import { permitCollections } from "../../platform/limits/memory/young-garbage.ts";
import { sliceSettings } from "../../platform/limits/settings/server-settings.ts";
import { createHttpServer, type HttpServer, type HttpServerOptions } from "../../proxy/http-server.ts";
import { chosenProtocols } from "../../server/chosen-protocols.ts";
import { openClientAccess } from "../../server/client-access.ts";
import { GuardedService } from "../../server/guarded-service.ts";
import { PROTOCOLS } from "../../server/protocols.ts";
import { bothTransports } from "../../server/transports.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { toReachableAddress } from "../addresses/address-text.ts";
import { probePort } from "../addresses/probe-port.ts";
import { compileSooner } from "../lifecycle/compile-sooner.ts";
import { prepareRoutes } from "../lifecycle/prepare-routes.ts";
import { returnMemory } from "../lifecycle/return-memory.ts";
import { endOnSignal, type Running, runUntilSignal } from "../lifecycle/shutdown.ts";
import { watchContainer } from "../lifecycle/watch-memory.ts";
import type { Environment } from "../settings/environment.ts";
import type { ParsedCommandLine } from "../settings/parse-settings.ts";
import type { Settings } from "../settings/settings.ts";
import { chooseReporter } from "../status-reporter/choose-reporter.ts";
import { openAccessNotice } from "../status-reporter/ready-facts.ts";
import { openLog } from "./open-log.ts";
import { ProxyTargets, watchTarget } from "./proxy-targets.ts";
import { toProxyTls, toTlsPaths } from "./tls-options.ts";
import { toAuth, toOptions } from "./to-server-options.ts";

/** `kserving proxy`: serves HTTP for a gRPC server elsewhere, and resolves once a signal has ended it in good order. */
export async function proxy({ settings }: ParsedCommandLine<"proxy">, env: Environment): Promise<void> {
  const { host, httpPort, grpcAddress, allowControl } = settings;
  permitCollections();
  const programLog = openLog(settings, env);
  const { log } = programLog;
  // It has no page.
  LogTail.of(log).end();
  const reporter = chooseReporter(programLog);
  const releaseSignals = endOnSignal();
  await probePort(host, httpPort, "httpPort");
  const { url, hasAuth, ...running } = await openProxy(settings, env, log);
  watchContainer(log);
  const stopped = runUntilSignal(running, reporter, { delayMs: settings.shutdownDelayMs });
  releaseSignals();
  const notice = hasAuth ? undefined : openAccessNotice(host, allowControl);
  if (notice !== undefined) log.info(notice);
  reporter.ready({ grpcAddress, httpUrl: toReachableAddress(url), stages: [] });
  prepareRoutes();
  returnMemory();
  compileSooner();
  await stopped;
}

/** A proxy that serves HTTP. */
interface OpenProxy extends Running {
  readonly url: string;
  /** True if clients need a password or a token. */
  readonly hasAuth: boolean;
}

/** Opens a proxy's port, and the connections to the servers behind it when they are needed. */
async function openProxy(settings: Settings<"proxy">, env: Environment, log: Logger): Promise<OpenProxy> {
  keepTickShape();
  const { host, httpPort } = settings;
  const own = sliceSettings(toOptions(settings));
  const { limits, access } = own;
  const tracer = await openTracing(env, log);
  const { remoteAuthFile } = settings;
  const credentials = remoteAuthFile === undefined ? undefined : await RemoteCredentials.open(remoteAuthFile);
  const tls = toProxyTls(settings);
  const targets = new ProxyTargets({ ...settings, credentials, tls });
  const proxies = new TrustedProxies(access.trustedProxies);
  const { auth } = toAuth(settings);
  const authentication = auth && (await openAuthentication(auth, { proxies }));
  const service = authentication ? new GuardedService(targets.toService()) : targets.toService();
  const memory = new MemoryBudget(limits.maxQueueBytes);
  endSlowClients(memory, limits.minClientRate, log);
  const options = {
    host,
    port: httpPort,
    // It has no page.
    protocols: chosenProtocols(
      PROTOCOLS.filter(({ name }) => name !== "page"),
      own.protocols.servedProtocols,
    ),
    settings: own,
    memory,
    ...openClientAccess(own, { proxies, authentication, log }),
    clients: openClientGate({ ...limits, proxies, log }),
    tracer,
    log,
  };
  const server = await openProxyPort(service, options, toTlsPaths(settings));
  const files = [authentication, credentials, tls && new RemoteTlsFiles(tls)];
  const fresh = files.flatMap((each) => (each === undefined ? [] : [keepFresh(each, log)]));
  const stops = [watchTarget(targets, settings.grpcAddress, log), ...fresh];
  return {
    url: server.url,
    hasAuth: auth !== undefined,
    inFlight: () => targets.inFlight(),
    retire: () => {
      targets.retire();
      server.retire();
    },
    close: async () => {
      for (const stop of stops) stop();
      await server.close(settings.drainTimeoutMs);
      memory.close();
      await targets.close();
      await tracer?.close();
    },
  };
}

/** There is no port on which it would be asked. */
const NO_GRPC = { accept: (socket: Socket) => void socket.destroy() };

/** The HTTP port of a proxy, encrypted if there are files for it; throws `unavailable` when it cannot be had. */
export async function openProxyPort(
  service: InferenceService,
  options: HttpServerOptions & { readonly port: number },
  paths: TlsPaths | undefined,
): Promise<Pick<HttpServer, "url" | "close" | "retire">> {
  if (paths === undefined) return createHttpServer(service, options);
  const files = await TlsFiles.open(paths);
  const { openTls } = await import("../../server/open-tls.ts");
  const http = await createHttpServer(service, { ...options, port: "shared" });
  const { host, port: httpPort, connections, log } = options;
  const ports = { host, port: undefined, socketPath: undefined, httpPort, connections };
  const tls = await openTls({ ...ports, files, grpc: NO_GRPC, http, log }).catch(async (reason) => {
    await http.close(0);
    throw reason;
  });
  const { retire, close: closeHttp, graceMs } = bothTransports(http, undefined);
  const close = (drainTimeoutMs: number) => {
    tls.close(graceMs());
    return closeHttp(drainTimeoutMs);
  };
  return { url: tls.httpUrl ?? "", retire, close };
}
