import { AccessPolicy } from "../../access/access-policy.ts";
import { keepFresh } from "../../access/authentication/keep-fresh.ts";
import { openAuthentication } from "../../access/authentication/open-authentication.ts";
import { openClientGate } from "../../access/open-client-gate.ts";
import { openConnectionLimit } from "../../access/open-connection-limit.ts";
import { TrustedProxies } from "../../access/trusted-proxies.ts";
import { permitCollections } from "../../limits/young-garbage.ts";
import { RemoteCredentials } from "../../remote/remote-credentials.ts";
import { GuardedService } from "../../server/guarded-service.ts";
import { PROTOCOLS } from "../../server/protocols.ts";
import { openTracing } from "../../tracing/open-tracing.ts";
import { probePort } from "../addresses/probe-port.ts";
import { toReachableAddress } from "../addresses/reachable-address.ts";
import { prepareRoutes } from "../lifecycle/prepare-routes.ts";
import { reopenOnDemand } from "../lifecycle/reopen-on-demand.ts";
import { endOnSignal, runUntilSignal } from "../lifecycle/shutdown.ts";
import { openProgramLog } from "../program-log.ts";
import { type Environment, misspeltVariables } from "../settings/environment.ts";
import type { ParsedCommandLine } from "../settings/parse-settings.ts";
import type { Settings } from "../settings/settings.ts";
import { chooseReporter } from "../status-reporter/choose-reporter.ts";
import { openAccessNotice } from "../status-reporter/open-access-notice.ts";
import { openProxyPort } from "./open-proxy-port.ts";
import { ProxyTargets } from "./proxy-targets.ts";
import { toClientOptions } from "./server-options.ts";
import { toProxyTls, toTlsPaths } from "./tls-options.ts";
import { toAuth } from "./to-auth.ts";
import { watchTarget } from "./watch-target.ts";

/** `kserving proxy`: serves HTTP for a gRPC server elsewhere, and resolves once a signal has ended it in good order. */
export async function proxy({ settings }: ParsedCommandLine<"proxy">, env: Environment): Promise<void> {
  const { host, httpPort, maxMessageBytes, grpcAddress, accessLog, serverTiming, allowControl } = settings;
  permitCollections();
  const programLog = openProgramLog(settings);
  const { log } = programLog;
  reopenOnDemand(programLog);
  for (const warning of misspeltVariables(env)) log.warn(warning);
  const reporter = chooseReporter(programLog);
  const releaseSignals = endOnSignal();
  await probePort(host, httpPort, "httpPort");
  const tracer = await openTracing(env, log);
  const credentials = await openCredentials(settings);
  const targets = new ProxyTargets({ ...settings, credentials, tls: toProxyTls(settings) });
  const proxies = new TrustedProxies(settings.trustedProxies);
  const { auth } = toAuth(settings);
  const authentication = auth && (await openAuthentication(auth, { proxies }));
  const policy = new AccessPolicy({ allowControl, corsOrigins: settings.corsOrigin, authentication });
  const limits = { maxMessageBytes, sendTimeoutMs: settings.sendTimeout * 1000 };
  const service = authentication ? new GuardedService(targets.toService()) : targets.toService();
  const options = {
    host,
    port: httpPort,
    protocols: PROTOCOLS,
    ...limits,
    policy,
    connections: openConnectionLimit(settings.maxConnections, log),
    clients: openClientGate({ ...toClientOptions(settings), proxies, log }),
    accessLog,
    addressOf: proxies.clientAddress.bind(proxies),
    serverTiming,
    tracer,
    log,
  };
  const server = await openProxyPort(service, options, toTlsPaths(settings));
  const fresh = [authentication, credentials].flatMap((each) => (each === undefined ? [] : [keepFresh(each, log)]));
  const stops = [watchTarget(targets.toService(), grpcAddress, log), ...fresh];
  const close = async () => {
    for (const stop of stops) stop();
    await server.close(settings.drainTimeout * 1000);
    await targets.close();
    await tracer?.close();
  };
  const retire = () => {
    targets.retire();
    server.retire();
  };
  const running = { inFlight: () => targets.inFlight(), retire, close };
  const stopped = runUntilSignal(running, reporter, { delayMs: settings.shutdownDelay * 1000 });
  releaseSignals();
  const notice = auth === undefined ? openAccessNotice(host, allowControl) : undefined;
  if (notice !== undefined) log.info(notice);
  reporter.ready({ grpcAddress, httpUrl: toReachableAddress(server.url), stages: [] });
  prepareRoutes();
  await stopped;
}

/** This proxy's own credentials at the servers behind it. */
async function openCredentials({ remoteAuthFile }: Settings<"proxy">): Promise<RemoteCredentials | undefined> {
  return remoteAuthFile === undefined ? undefined : RemoteCredentials.open(remoteAuthFile);
}
