import { createServer } from "node:net";
import { LocalGate } from "../../access/client-gate.ts";
import { ThreadCounts } from "../../platform/limits/thread-counts.ts";
import { wholeEnvironment } from "../../platform/machine/start-secrets.ts";
import { listen } from "../../platform/net/listen.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import type { ServerChoices } from "../server-options.ts";
import { type Opening, startGrpc, startHttp } from "../start-transport.ts";
import type { ListenerParts, Transports } from "../transports.ts";
import { bothTransports } from "../transports.ts";
import { listenInner } from "./inner-socket.ts";
import type { InnerAddress, ListenerOptions } from "./listener-messages.ts";
import { ListenerPool, type ListenerPoolOptions } from "./listener-pool.ts";

type ListenersOpening = Opening & { readonly listeners: ListenerParts };

/** Opens the ports for everybody in several threads; this one answers what they pass on. */
export async function openListeners(service: InferenceService, given: ListenersOpening): Promise<Transports> {
  const options = { ...given, ...(await findPorts(given)) };
  const { grpc, http } = await startInner(service, options);
  const inner = await listenInner({ http1: http?.accept, http2: grpc.accept });
  const ending = bothTransports(grpc, http);
  const closeInner = async (ms: number) => {
    await ending.close(ms);
    inner.close();
  };
  const { pool, opened } = await ListenerPool.open(toPoolOptions(options, inner)).catch(async (reason) => {
    await closeInner(0);
    throw reason;
  });
  const stopLooking = options.page?.recent.onLook(() => pool.tell({ look: true }));
  const retire = () => {
    pool.retire();
    ending.retire();
  };
  const close = async (ms: number) => {
    stopLooking?.();
    await Promise.all([pool.close(ms), closeInner(ms)]);
  };
  return { ...opened, isEncrypted: options.tls !== undefined, retire, close };
}

function toPoolOptions(options: ListenersOpening, { path, token }: InnerAddress): ListenerPoolOptions {
  const { log, metrics, page, clients, tracer, listeners } = options;
  const { service, choices, held } = listeners;
  return {
    log,
    metrics,
    alias: choices.alias,
    service,
    clients: clients instanceof LocalGate ? clients : undefined,
    onRecent: (request) => page?.recent.keep(request),
    data: {
      options: toListenerOptions(options, choices),
      connections: ThreadCounts.memoryFor(options.settings.limits.listeners + 1),
      held,
      logged: log.filter?.shared ?? log.level,
      hasFilter: log.filter !== undefined,
      sampling: tracer?.sampling.shared,
      environment: tracer === undefined ? {} : wholeEnvironment(),
      inner: { path, token },
    },
  };
}

/** The ports, each opened for a moment by this thread alone: another server's port would else be shared with that. */
async function findPorts({ host, port, httpPort }: Opening): Promise<Pick<Opening, "port" | "httpPort">> {
  const grpc = await tryPort(host, port);
  if (httpPort === undefined) return { port: grpc };
  return { port: grpc, httpPort: httpPort === port && port !== 0 ? grpc : await tryPort(host, httpPort) };
}

async function tryPort(host: string, wanted: number): Promise<number> {
  const server = createServer();
  const { port } = await listen(server, { host, port: wanted, isBrief: true });
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The transports of this thread, without ports; gRPC's Unix socket is its own. */
async function startInner(service: InferenceService, options: Opening) {
  const { tls, host, log } = options;
  const { grpcSocketPath: path, grpcSocketTakeover } = options.settings.network;
  const isEncrypted = tls?.isForGrpcAlone === true && path !== undefined;
  const grpc = await startGrpc(service, { ...options, hasNoSocket: isEncrypted }, "shared");
  const http = options.httpPort === undefined ? undefined : await startHttp(service, options, "shared");
  if (!isEncrypted) return { grpc, http };
  const { openTls } = await import("../open-tls.ts");
  const socket = await openTls({
    host,
    port: undefined,
    httpPort: undefined,
    socketPath: path,
    takesSocketOver: grpcSocketTakeover,
    files: tls,
    grpc,
    http: undefined,
    connections: options.connections,
    log,
  });
  const close = (ms: number) => {
    socket.close();
    return grpc.close(ms);
  };
  return { grpc: { ...grpc, close }, http };
}

function toListenerOptions(options: Opening, { tls, auth }: ServerChoices): ListenerOptions {
  const { settings, host, port, httpPort, clients, metrics, page, platform } = options;
  // The Unix socket is the main thread's.
  const { grpcSocketPath: _, ...network } = settings.network;
  return {
    settings: { ...settings, network: { ...network, grpcSocketOnly: false } },
    host,
    port,
    ...(httpPort !== undefined && { httpPort }),
    hasPlatformElsewhere: platform !== undefined,
    tls,
    auth,
    limitsClients: clients !== undefined,
    hasMetrics: metrics !== undefined,
    pageToken: page?.token.text,
  };
}
