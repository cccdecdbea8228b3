import { toAuthority } from "../net/authority.ts";
import { RequestMetrics } from "../observability/metrics/request-metrics.ts";
import type { InferenceService } from "../serving/inference-service.ts";
import { bothTransports } from "./both-transports.ts";
import { importGrpc, importHttp, type Opening, startGrpc, startHttp } from "./start-transport.ts";
import type { TransportOptions, Transports } from "./transports.ts";

/** Begins to import what {@link openTransports} needs, while models load in other threads. An import that fails here fails there again, and is reported there. */
export function prepareTransports({ httpPort, admin }: Pick<TransportOptions, "httpPort" | "admin">): void {
  const hasHttp = httpPort !== undefined || admin !== undefined;
  const imports = [importProtocols(), importGrpc(), ...(hasHttp ? [importHttp()] : [])];
  void Promise.allSettled(imports);
}

const importProtocols = () => import("./protocols.ts");

/** Opens gRPC and, where it is served, HTTP. Throws `unavailable` for a port that cannot be opened. */
export async function openTransports(
  service: InferenceService,
  transportOptions: TransportOptions,
): Promise<Transports> {
  const { httpPort, admin, policy, log } = transportOptions;
  const routes = httpPort === undefined ? [...(service.hookRoutes?.().keys() ?? [])] : [];
  if (routes.length > 0) log.warn(`hooks declare routes, but HTTP is not served: ${routes.join(", ")}`);
  const { PROTOCOLS } = await importProtocols();
  // They are read over HTTP alone.
  const metrics = httpPort === undefined && admin === undefined ? {} : { metrics: new RequestMetrics() };
  const options = { ...transportOptions, ...metrics, protocols: PROTOCOLS };
  if (admin === undefined) return openMain(service, { ...options, httpPolicy: policy });
  const { openAdmin, withoutAdmin } = await import("./open-admin.ts");
  const transports = await openMain(service, { ...options, ...withoutAdmin(policy) });
  // Administration has to work when the other ports are overloaded.
  const unlimited = { connections: undefined, clients: undefined };
  const front = await openAdmin(service, { ...options, ...unlimited, ...admin }).catch(async (reason) => {
    await transports.close(0);
    throw reason;
  });
  return { ...transports, adminUrl: front.url, ...bothTransports(transports, front) };
}

/** The ports for everybody. */
async function openMain(service: InferenceService, options: Opening): Promise<Transports> {
  const { port, httpPort, grpcSocketOnly } = options;
  if (options.tls !== undefined) {
    const { openEncrypted } = await import("./open-encrypted.ts");
    return openEncrypted(service, { ...options, tls: options.tls });
  }
  if (httpPort === undefined) return openGrpc(service, options);
  const isShared = port !== 0 && port === httpPort && !grpcSocketOnly;
  return isShared ? openShared(service, options) : openBoth(service, options, httpPort);
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
  const { listenShared } = await import("../net/shared-port.ts");
  const grpc = await startGrpc(service, options, "shared");
  const http = await startHttp(service, options, "shared");
  const { host, port, connections } = options;
  const users = { http1: http.accept, http2: grpc.accept, connections };
  const { retire, close: closeBoth, graceMs } = bothTransports(grpc, http);
  const shared = await listenShared(host, port, users).catch(async (reason) => {
    await closeBoth(0);
    throw reason;
  });
  const address = toAuthority(host, port);
  const close = (ms: number) => {
    shared.close(graceMs());
    return closeBoth(ms);
  };
  return { grpcAddress: address, httpUrl: `http://${address}`, isEncrypted: false, retire, close };
}
