import type { AccessPolicy } from "../access/access-policy.ts";
import type { ClientGate } from "../access/client-gate.ts";
import { markLocal } from "../access/local-host.ts";
import type { TlsFiles } from "../access/tls-files.ts";
import type { GrpcServer, GrpcServerOptions } from "../grpc/grpc-server.ts";
import type { ConnectionLimit } from "../limits/connection-limit.ts";
import { LAST_CALL_MS } from "../limits/last-call.ts";
import type { MemoryBudget } from "../limits/memory-budget.ts";
import { toAuthority } from "../net/authority.ts";
import type { AccessLogOptions } from "../observability/access-log.ts";
import type { Logger } from "../observability/logger.ts";
import { RequestMetrics } from "../observability/metrics/request-metrics.ts";
import type { RequestTracer } from "../observability/request-tracer.ts";
import type { Protocol } from "../protocols/protocol.ts";
import type { HttpServer } from "../proxy/http-server.ts";
import type { InferenceService } from "../serving/inference-service.ts";

/** Address to listen on, and the settings that both transports share. */
export interface WireOptions {
  readonly host: string;
  /** gRPC port; 0 picks a free one. */
  readonly port: number;
  /** Path of a Unix socket on which gRPC is served too. */
  readonly grpcSocketPath?: string;
  /** True where gRPC is served there alone, and has no port. */
  readonly grpcSocketOnly: boolean;
  /** gRPC's channel arguments, `KEY=VALUE`. */
  readonly grpcChannelArguments: readonly string[];
  /** Absent = HTTP is not served. The gRPC port's number (but 0) = both share it. */
  readonly httpPort?: number;
  readonly maxMessageBytes: number;
  /** An address of its own for administration; absent = the other ports answer such calls. */
  readonly admin?: { readonly host: string; readonly port: number; readonly tls: TlsFiles | undefined };
  /** Files for encrypted connections; absent = they are not encrypted. */
  readonly tls?: TlsFiles | undefined;
  /** Bytes that the requests of both transports hold together. Default: each limits its own. */
  readonly memory?: MemoryBudget;
  /** Milliseconds that a client may take nothing of an answer; 0 = no limit. */
  readonly sendTimeoutMs: number;
  readonly tensorContent: boolean;
  readonly requireModelSpec: boolean;
  /** URL of the metrics that have TensorFlow Serving's names. */
  readonly tensorflowMetricsPath: string;
  /** Permissions of clients. */
  readonly policy: AccessPolicy;
  /** Limit of the connections of all ports. */
  readonly connections?: ConnectionLimit | undefined;
  /** Limits of each client. */
  readonly clients?: ClientGate | undefined;
  /** Logs a line for each request. */
  readonly accessLog: boolean;
  /** Gives the address of a request's client behind trusted proxies. */
  readonly addressOf?: AccessLogOptions["addressOf"];
  /** Tells clients the times of their requests. */
  readonly serverTiming: boolean;
  /** Records traces; absent = nobody does. */
  readonly tracer?: RequestTracer | undefined;
  readonly log: Logger;
}

/** The open ports. */
export interface Wires {
  /** `host:port`, or `unix:PATH` where gRPC has no port. */
  readonly grpcAddress: string;
  /** `http://host:port`, or `https://…`, where HTTP is served. */
  readonly httpUrl: string | undefined;
  /** The same of the address for administration, where it has one. */
  readonly adminUrl?: string;
  readonly isEncrypted: boolean;
  /** Asks clients to go elsewhere, and goes on answering. */
  retire(): void;
  /** Refuses new work, finishes what is under way within `drainTimeoutMs`, then cuts. */
  close(drainTimeoutMs: number): Promise<void>;
}

/** Begins to import what {@link openWires} needs, while models load in other threads. What fails here fails there again, and is told there. */
export function prepareWires({ httpPort, admin }: Pick<WireOptions, "httpPort" | "admin">): void {
  const hasHttp = httpPort !== undefined || admin !== undefined;
  const wires = [importProtocols(), importGrpc(), ...(hasHttp ? [importHttp()] : [])];
  void Promise.allSettled(wires);
}

const importProtocols = () => import("./protocols.ts");
const importGrpc = () => import("../grpc/grpc-server.ts");
const importHttp = () => import("../proxy/http-server.ts");

/** Opens gRPC and, where wanted, HTTP; imported when needed, since each is heavy. Throws `unavailable` when a port cannot be had. */
export async function openWires(service: InferenceService, wireOptions: WireOptions): Promise<Wires> {
  const { httpPort, admin, policy } = wireOptions;
  const { PROTOCOLS } = await importProtocols();
  // Nobody could look at them where HTTP is not served.
  const metrics = httpPort === undefined && admin === undefined ? {} : { metrics: new RequestMetrics() };
  const options = { ...wireOptions, ...metrics, protocols: PROTOCOLS };
  if (admin === undefined) return openMain(service, { ...options, httpPolicy: policy });
  const { openAdmin, withoutAdmin } = await import("./open-admin.ts");
  const wires = await openMain(service, { ...options, ...withoutAdmin(policy) });
  // Whatever the other ports are full of, who administers the server gets through.
  const unlimited = { connections: undefined, clients: undefined };
  const front = await openAdmin(service, { ...options, ...unlimited, ...admin }).catch(async (reason) => {
    await wires.close(0);
    throw reason;
  });
  return { ...wires, adminUrl: front.url, ...both(wires, front) };
}

/** The ports for everybody. */
async function openMain(service: InferenceService, options: Opening): Promise<Wires> {
  const { port, httpPort, grpcSocketOnly } = options;
  if (options.tls !== undefined) return openEncrypted(service, { ...options, tls: options.tls });
  if (httpPort === undefined) return openGrpc(service, options);
  const isShared = port !== 0 && port === httpPort && !grpcSocketOnly;
  return isShared ? openShared(service, options) : openBoth(service, options, httpPort);
}

/** HTTP, at a port or where connections come from elsewhere. */
async function startHttp(service: InferenceService, options: Opening, port: number | "shared"): Promise<HttpServer> {
  const { createHttpServer } = await importHttp();
  return createHttpServer(service, { ...options, policy: options.httpPolicy, port });
}

type Opening = WireOptions &
  Pick<GrpcServerOptions, "findHttpPort"> & {
    readonly protocols: readonly Protocol[];
    readonly metrics?: RequestMetrics;
    readonly httpPolicy: AccessPolicy;
  };

async function openGrpc(service: InferenceService, options: Opening): Promise<Wires> {
  const grpc = await startGrpc(service, options);
  const { address: grpcAddress, retire, close } = grpc;
  return { grpcAddress, httpUrl: undefined, isEncrypted: false, retire, close };
}

/** On its port and, where wanted, its Unix socket. */
async function startGrpc(
  service: InferenceService,
  { grpcSocketPath: path, grpcChannelArguments: channelArguments, ...options }: Opening,
  port: GrpcServerOptions["port"] = options.grpcSocketOnly ? "shared" : options.port,
): Promise<GrpcServer> {
  const { createGrpcServer } = await importGrpc();
  const grpc = await createGrpcServer(service, { ...options, channelArguments, port });
  if (path === undefined) return grpc;
  const { listenUnix } = await import("../net/unix-socket.ts");
  const socket = await listenUnix(path, (connection) => grpc.accept(markLocal(connection))).catch(async (reason) => {
    await grpc.close(0);
    throw reason;
  });
  const close = (ms: number) => {
    socket.close();
    return grpc.close(ms);
  };
  return { ...grpc, ...(options.grpcSocketOnly && { address: `unix:${path}` }), close };
}

async function openBoth(service: InferenceService, options: Opening, httpPort: number): Promise<Wires> {
  let servedPort: number | undefined;
  const grpc = await openGrpc(service, { ...options, findHttpPort: () => servedPort });
  try {
    const http = await startHttp(service, options, httpPort);
    servedPort = http.port;
    return { ...grpc, httpUrl: http.url, ...both(grpc, http) };
  } catch (reason) {
    await grpc.close(0);
    throw reason;
  }
}

/** Both ports, or gRPC alone with its Unix socket. */
async function openEncrypted(service: InferenceService, options: Opening & { tls: TlsFiles }): Promise<Wires> {
  const { host, httpPort, tls: files, grpcSocketPath, grpcSocketOnly, connections, log } = options;
  const isForGrpc = files.isForGrpcAlone;
  const { openTls } = await import("./open-tls.ts");
  const grpc = await startGrpc(service, isForGrpc ? withoutSocket(options) : options, "shared");
  const http = httpPort === undefined ? undefined : await startHttp(service, options, isForGrpc ? httpPort : "shared");
  const { retire, close: closeBoth, graceMs } = both(grpc, http);
  const tls = await openTls({
    ...{ host, httpPort, files, grpc, connections, log },
    port: grpcSocketOnly ? undefined : options.port,
    socketPath: isForGrpc ? grpcSocketPath : undefined,
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

function withoutSocket({ grpcSocketPath: _, ...options }: Opening): Opening {
  return options;
}

async function openShared(service: InferenceService, options: Opening): Promise<Wires> {
  const { listenShared } = await import("../net/shared-port.ts");
  const grpc = await startGrpc(service, options, "shared");
  const http = await startHttp(service, options, "shared");
  const { host, port, connections } = options;
  const users = { http1: http.accept, http2: grpc.accept, connections };
  const { retire, close: closeBoth, graceMs } = both(grpc, http);
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

type Ending = Pick<Wires, "retire" | "close">;

/** Ends two transports as if they were one. */
function both(grpc: Ending, http: Ending | undefined): Ending & { readonly graceMs: () => number } {
  let graceMs = 0;
  const retire = () => {
    graceMs = LAST_CALL_MS;
    grpc.retire();
    http?.retire();
  };
  const close = async (ms: number) => void (await Promise.all([grpc.close(ms), http?.close(ms)]));
  return { retire, close, graceMs: () => graceMs };
}
