import type { TlsFiles } from "../access/tls-files.ts";
import { RequestMetrics } from "../observability/metrics/request-metrics.ts";
import { keepTickShape } from "../platform/async/keep-tick-shape.ts";
import { TRANSPORT_LIMITS } from "../platform/limits/transport-limits.ts";
import { toAuthority } from "../platform/net/listen.ts";
import type { InferenceService } from "../serving/inference-service.ts";
import { chosenProtocols } from "./chosen-protocols.ts";
import { importGrpc, importHttp, type Opening, startGrpc, startHttp } from "./start-transport.ts";
import type { SideAddress, TransportOptions, Transports } from "./transports.ts";
import { bothTransports } from "./transports.ts";

/**
 * Begins to import what {@link openTransports} needs, while models load in other threads. An import that fails here
 * fails there again, and is reported there.
 */
export function prepareTransports(options: HttpAddresses): void {
  keepTickShape();
  const imports = [importProtocols(), importGrpc(), ...(hasHttp(options) ? [importHttp()] : [])];
  void Promise.allSettled(imports);
}

type HttpAddresses = Pick<TransportOptions, "httpPort" | "admin" | "metricsAddress">;

/** Counts of requests; undefined without HTTP, over which alone they are read. */
export function requestMetrics(options: HttpAddresses): RequestMetrics | undefined {
  return hasHttp(options) ? new RequestMetrics() : undefined;
}

function hasHttp({ httpPort, admin, metricsAddress }: HttpAddresses): boolean {
  return httpPort !== undefined || admin !== undefined || metricsAddress !== undefined;
}

const importProtocols = () => import("./protocols.ts");

/** Opens gRPC and, if it is served, HTTP. Throws `unavailable` for a port that cannot be opened. */
export async function openTransports(
  service: InferenceService,
  transportOptions: TransportOptions,
): Promise<Transports> {
  const { httpPort, admin, metricsAddress, policy, log } = transportOptions;
  const routes =
    httpPort === undefined && transportOptions.passOn === undefined ? [...(service.hookRoutes?.().keys() ?? [])] : [];
  if (routes.length > 0) log.warn(`hooks declare routes, but HTTP is not served: ${routes.join(", ")}`);
  const { PROTOCOLS } = await importProtocols();
  if (transportOptions.metrics !== undefined) transportOptions.page?.history.count(transportOptions.metrics);
  const { servedProtocols } = transportOptions.settings.protocols;
  const options = { ...transportOptions, protocols: chosenProtocols(PROTOCOLS, servedProtocols) };
  if (admin === undefined && metricsAddress === undefined) return openMain(service, { ...options, httpPolicy: policy });
  return openSeparate(service, options);
}

/** The ports, with separate ones for administration, metrics or both. */
async function openSeparate(service: InferenceService, options: Omit<Opening, "httpPolicy">): Promise<Transports> {
  const { admin, metricsAddress, sockets = {} } = options;
  const { openSidePort, toPortPolicies } = await import("./open-side-port.ts");
  const { policy, httpPolicy, ...policies } = toPortPolicies(options.policy, options);
  // Administration has to work when the other ports are overloaded.
  const { passOn: _, ...withoutPassing } = options;
  const shared = { ...withoutPassing, clients: undefined };
  let opened = await openMain(service, { ...options, policy, httpPolicy });
  const add = async (address: SideAddress, part: "admin" | "metrics") => {
    const connections = options.connections?.ofSidePort(TRANSPORT_LIMITS.sideConnections);
    const own = { ...shared, ...address, connections, fd: sockets[part], policy: policies[part] };
    const front = await openSidePort(service, own).catch(async (reason) => {
      await opened.close(0);
      throw reason;
    });
    const { retire, close } = bothTransports(opened, front);
    opened = { ...opened, [`${part}Url`]: front.url, retire, close };
  };
  if (admin !== undefined) await add(admin, "admin");
  if (metricsAddress !== undefined) await add(metricsAddress, "metrics");
  return opened;
}

/** The ports for everybody. */
async function openMain(service: InferenceService, options: Opening): Promise<Transports> {
  const { httpPort, listeners } = options;
  if (listeners !== undefined) {
    const { openListeners } = await import("./listeners/open-listeners.ts");
    return openListeners(service, { ...options, listeners });
  }
  if (options.tls !== undefined) {
    return openEncrypted(service, { ...options, tls: options.tls });
  }
  if (httpPort === undefined) return openGrpc(service, options);
  return isShared(options) ? openShared(service, options) : openBoth(service, options, httpPort);
}

/** True if gRPC and HTTP have one port. */
function isShared({ port, httpPort, settings, sockets }: Opening): boolean {
  return port !== 0 && port === httpPort && !settings.network.grpcSocketOnly && sockets?.http === undefined;
}

/** Starts both transports for one port. */
async function startBoth(service: InferenceService, options: Opening) {
  const http = await startHttp(service, options, "shared");
  try {
    return { http, grpc: await startGrpc(service, { ...options, answerOther: http.answerStream }, "shared") };
  } catch (reason) {
    await http.close(0);
    throw reason;
  }
}

async function openGrpc(service: InferenceService, options: Opening): Promise<Transports> {
  const grpc = await startGrpc(service, options);
  const { address: grpcAddress, retire, close } = grpc;
  return { grpcAddress, httpUrl: undefined, isEncrypted: false, retire, close };
}

async function openBoth(service: InferenceService, options: Opening, httpPort: number): Promise<Transports> {
  let servedPort: number | undefined;
  const grpc = await openGrpc(service, { ...options, findHttpPort: () => servedPort });
  try {
    const grpcPort = Number(/:(\d+)$/.exec(grpc.grpcAddress)?.[1] ?? options.port);
    const http = await startHttp(service, { ...options, grpcPort }, httpPort);
    servedPort = http.port;
    return { ...grpc, httpUrl: http.url, ...bothTransports(grpc, http) };
  } catch (reason) {
    await grpc.close(0);
    throw reason;
  }
}

async function openShared(service: InferenceService, options: Opening): Promise<Transports> {
  const { listenShared } = await import("../platform/net/shared-port.ts");
  const { grpc, http } = await startBoth(service, options);
  const { host, port, connections } = options;
  const users = { http1: http.accept, http2: grpc.accept, connections };
  const { retire, close: closeBoth, graceMs } = bothTransports(grpc, http);
  const shared = await listenShared({ host, port, fd: options.sockets?.grpc }, users).catch(async (reason) => {
    await closeBoth(0);
    throw reason;
  });
  const address = toAuthority(shared.host, shared.port);
  const close = (ms: number) => {
    shared.close(graceMs());
    return closeBoth(ms);
  };
  return { grpcAddress: address, httpUrl: `http://${address}`, isEncrypted: false, retire, close };
}

/** Starts gRPC for an encrypted port, and HTTP, if it is served, for another one, or on that if it is not encrypted. */
async function startSeparate(service: InferenceService, options: Opening & { tls: TlsFiles }) {
  const { httpPort, tls } = options;
  const grpc = await startGrpc(service, options, "shared");
  if (httpPort === undefined) return { grpc, http: undefined };
  return { grpc, http: await startHttp(service, options, tls.isForGrpcAlone ? httpPort : "shared") };
}

/** Opens encrypted ports, both or gRPC's alone, with its Unix socket. */
async function openEncrypted(service: InferenceService, options: Opening & { tls: TlsFiles }): Promise<Transports> {
  const { host, httpPort, tls: files, sockets, connections, log } = options;
  const { grpcSocketPath, grpcSocketTakeover, grpcSocketOnly } = options.settings.network;
  const isForGrpc = files.isForGrpcAlone;
  const { openTls } = await import("./open-tls.ts");
  const own = { ...options, hasNoSocket: isForGrpc };
  const { grpc, http } = isShared(options) ? await startBoth(service, own) : await startSeparate(service, own);
  const { retire, close: closeBoth, graceMs } = bothTransports(grpc, http);
  const tls = await openTls({
    host,
    httpPort,
    sockets,
    files,
    grpc,
    connections,
    log,
    port: grpcSocketOnly ? undefined : options.port,
    socketPath: isForGrpc ? grpcSocketPath : undefined,
    takesSocketOver: grpcSocketTakeover,
    http: isForGrpc ? undefined : http,
  }).catch(async (reason) => {
    await closeBoth(0);
    throw reason;
  });
  const close = (ms: number) => {
    tls.close(graceMs());
    return closeBoth(ms);
  };
  const { grpcAddress = `unix:${grpcSocketPath}` } = tls;
  return { grpcAddress, httpUrl: isForGrpc ? http?.url : tls.httpUrl, isEncrypted: true, retire, close };
}
