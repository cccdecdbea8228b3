import { AccessPolicy } from "../../access/access-policy.ts";
import { keepFresh } from "../../access/authentication/keep-fresh.ts";
import { openAuthentication } from "../../access/authentication/open-authentication.ts";
import { readAccountKey } from "../../access/client-key.ts";
import { endSlowClients } from "../../access/end-slow-clients.ts";
import { openClientGate } from "../../access/open-client-gate.ts";
import { openConnectionLimit } from "../../access/open-connection-limit.ts";
import { TrustedProxies } from "../../access/trusted-proxies.ts";
import { keepTickShape } from "../../async/keep-tick-shape.ts";
import { MemoryBudget } from "../../limits/memory/memory-budget.ts";
import type { Logger } from "../../observability/logger.ts";
import { RemoteCredentials } from "../../remote/remote-credentials.ts";
import { RemoteTlsFiles } from "../../remote/remote-tls-files.ts";
import { GuardedService } from "../../server/guarded-service.ts";
import { PROTOCOLS } from "../../server/protocols.ts";
import { openTracing } from "../../tracing/open-tracing.ts";
import type { Running } from "../lifecycle/shutdown.ts";
import type { Environment } from "../settings/environment.ts";
import type { Settings } from "../settings/settings.ts";
import { openProxyPort } from "./open-proxy-port.ts";
import { ProxyTargets } from "./proxy-targets.ts";
import { toProxyTls, toTlsPaths } from "./tls-options.ts";
import { toAuth } from "./to-auth.ts";
import { toClientOptions } from "./to-server-options.ts";
import { watchTarget } from "./watch-target.ts";

/** A proxy that serves HTTP. */
export interface OpenProxy extends Running {
  readonly url: string;
  /** True where clients need a password or a token. */
  readonly hasAuth: boolean;
}

/** Opens a proxy's port, and the connections to the servers behind it when they are needed. */
export async function openProxy(settings: Settings<"proxy">, env: Environment, log: Logger): Promise<OpenProxy> {
  keepTickShape();
  const { host, httpPort, maxMessageBytes, accessLog, serverTiming, allowControl } = settings;
  const tracer = await openTracing(env, log);
  const credentials = await openCredentials(settings);
  const tls = toProxyTls(settings);
  const targets = new ProxyTargets({ ...settings, credentials, tls });
  const proxies = new TrustedProxies(settings.trustedProxies);
  const { auth } = toAuth(settings);
  const authentication = auth && (await openAuthentication(auth, { proxies }));
  const service = authentication ? new GuardedService(targets.toService()) : targets.toService();
  const memory = new MemoryBudget(settings.maxQueueBytes);
  endSlowClients(memory, settings.minClientRate, log);
  const options = {
    host,
    port: httpPort,
    protocols: PROTOCOLS,
    maxMessageBytes,
    memory,
    sendTimeoutMs: settings.sendTimeout * 1000,
    policy: new AccessPolicy({ allowControl, corsOrigins: settings.corsOrigin, authentication, proxies }),
    connections: openConnectionLimit(settings.maxConnections, log),
    clients: openClientGate({ ...toClientOptions(settings), proxies, log }),
    accountKey: readAccountKey(settings.clientKey, proxies),
    accessLog,
    addressOf: proxies.clientAddress.bind(proxies),
    serverTiming,
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
      await server.close(settings.drainTimeout * 1000);
      memory.close();
      await targets.close();
      await tracer?.close();
    },
  };
}

/** This proxy's own credentials at the servers behind it. */
async function openCredentials({ remoteAuthFile }: Settings<"proxy">): Promise<RemoteCredentials | undefined> {
  return remoteAuthFile === undefined ? undefined : RemoteCredentials.open(remoteAuthFile);
}
