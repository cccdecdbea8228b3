import type { Socket } from "node:net";
import { Server, ServerCredentials, setLogger } from "@grpc/grpc-js";
import { reasonText, ServingError } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";
import type { InferenceService } from "../serving/inference-service.ts";
import { HealthService } from "./health-service.ts";
import { type Connections, tuneHttp2 } from "./http2-tuning.ts";
import { OpenCalls } from "./open-calls.ts";
import { addReflection } from "./reflection.ts";
import { addTensorflowService } from "./tensorflow-service.ts";

/** Where and how to listen. */
export interface GrpcServerOptions {
  readonly host: string;
  /** 0 picks a free one; `shared` = it does not listen, somebody else gives it connections. */
  readonly port: number | "shared";
  /** The largest message taken, and what one request's tensors may take in memory. Default 256 MB. */
  readonly maxMessageBytes?: number;
  /** Whether answers carry numbers in `tensor_content` instead of typed fields. Default false. */
  readonly tensorContent?: boolean;
  readonly log: Logger;
}

/** A gRPC server that listens. */
export interface GrpcServer {
  /** `host:port`; of no use with a shared port. */
  readonly address: string;
  readonly port: number;
  /** Takes a connection that somebody else accepted: HTTP/2 without TLS. */
  accept(socket: Socket): void;
  /** Health says NOT_SERVING, new calls are refused, those under way have `drainTimeoutMs` to finish; the rest fails as unavailable. */
  close(drainTimeoutMs: number): Promise<void>;
}

const DEFAULT_MAX_MESSAGE_BYTES = 256 * 1024 * 1024;
/** Calls of one connection at once; its others wait at the client. What a client does not read stays in our memory, so it must have a bound. */
const MAX_CONCURRENT_CALLS = 256;
/** How long the answers of calls that were ended have to reach their clients. */
const LAST_WORDS_MS = 200;

/**
 * Serves tensorflow.serving.PredictionService, grpc.health.v1 and reflection.
 * Throws `unavailable` when it cannot listen.
 */
export async function createGrpcServer(service: InferenceService, options: GrpcServerOptions): Promise<GrpcServer> {
  const { host, log, tensorContent = false, maxMessageBytes = DEFAULT_MAX_MESSAGE_BYTES } = options;
  routeLibraryLog(log);
  const server = newServer(maxMessageBytes);
  const connections = tuneHttp2(server);
  if (connections === undefined) log.debug("HTTP/2 is not tuned: this version of @grpc/grpc-js has no place for it");
  const openCalls = new OpenCalls();
  addTensorflowService(server, service, { maxMessageBytes, tensorContent, log, openCalls });
  addReflection(server);
  const injector =
    options.port === "shared" ? server.createConnectionInjector(ServerCredentials.createInsecure()) : undefined;
  const port = options.port === "shared" ? 0 : await listen(server, host, options.port);
  const health = new HealthService(service);
  health.addTo(server);
  let closed: Promise<void> | undefined;
  return {
    address: hostPort(host, port),
    port,
    accept: (socket) => injector?.injectConnection(socket),
    close(drainTimeoutMs) {
      injector?.drain(drainTimeoutMs);
      closed ??= close({ server, health, openCalls, connections }, drainTimeoutMs);
      return closed;
    },
  };
}

function newServer(maxMessageBytes: number): Server {
  // channelz stays on: without it grpc-js forgets its sessions, and forceShutdown() cuts none of them.
  return new Server({
    "grpc.max_receive_message_length": maxMessageBytes,
    "grpc.max_send_message_length": -1,
    "grpc.max_concurrent_streams": MAX_CONCURRENT_CALLS,
  });
}

function listen(server: Server, host: string, port: number): Promise<number> {
  const address = hostPort(host, port);
  return new Promise((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound);
      else reject(cannotListen(address, error));
    });
  });
}

function cannotListen(address: string, cause: Error): ServingError {
  const isTaken = reasonText(cause).includes("EADDRINUSE");
  const why = isTaken ? "the port is in use; choose another, or 0 for any free one" : reasonText(cause);
  return new ServingError("unavailable", `Cannot listen on ${address}: ${why}.`, { cause });
}

interface Closing {
  readonly server: Server;
  readonly health: HealthService;
  readonly openCalls: OpenCalls;
  readonly connections: Connections | undefined;
}

async function close(parts: Closing, drainTimeoutMs: number): Promise<void> {
  const { server, health, openCalls, connections } = parts;
  health.shutDown();
  const drained = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
  connections?.cutEnded();
  if (await settlesWithin(drained, drainTimeoutMs)) return;
  openCalls.endAll();
  if (await settlesWithin(drained, LAST_WORDS_MS)) return;
  server.forceShutdown();
  connections?.cutAll();
  await settlesWithin(drained, LAST_WORDS_MS);
}

async function settlesWithin(promise: Promise<void>, timeoutMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  const settled = await Promise.race([promise.then(() => true), late]);
  clearTimeout(timer);
  return settled;
}

function hostPort(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** grpc-js writes to the console, once more what it also throws; that belongs into our log, at its lowest levels. */
function routeLibraryLog(log: Logger): void {
  const write = (...parts: unknown[]) => log.debug(`grpc-js: ${parts.join(" ")}`);
  setLogger({ error: write, info: write, debug: write });
}
