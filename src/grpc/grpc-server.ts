import type { Socket } from "node:net";
import { Server, ServerCredentials, setLogger } from "@grpc/grpc-js";
import { AccessPolicy } from "../access/access-policy.ts";
import { settlesWithin } from "../async/settles-within.ts";
import { HANDSHAKE_TIMEOUT_MS } from "../limits/handshake-timeout.ts";
import { MemoryBudget } from "../limits/memory-budget.ts";
import { SERVER_DEFAULTS } from "../limits/server-defaults.ts";
import { toAuthority } from "../net/authority.ts";
import { cannotListen } from "../net/cannot-listen.ts";
import { AccessLog } from "../observability/access-log.ts";
import type { Logger } from "../observability/logger.ts";
import { HealthService } from "../protocols/grpc-standard/health-service.ts";
import { addReflection } from "../protocols/grpc-standard/reflection.ts";
import { addKserveService } from "../protocols/kserve/grpc-service.ts";
import { addTensorflowService } from "../protocols/tensorflow-serving/grpc-service.ts";
import type { InferenceService } from "../serving/inference-service.ts";
import { ConnectionWatch } from "./connection-watch.ts";
import { hasReceivePlace } from "./grpc-internals.ts";
import { type Connections, tuneHttp2 } from "./http2-tuning.ts";
import { MessageClock } from "./message-clock.ts";
import { createIntake, type IntakeLimits } from "./message-intake.ts";
import { MessagePool } from "./message-pool.ts";
import { OpenCalls } from "./open-calls.ts";
import { SendWatch } from "./send-watch.ts";
import type { UnaryRoute } from "./unary-handler.ts";
import { toStreamHandler } from "./unary-stream.ts";

/** Where and how to listen. */
export interface GrpcServerOptions {
  readonly host: string;
  /** 0 picks a free one; `shared` = it does not listen, somebody else gives it connections. */
  readonly port: number | "shared";
  /** The largest message taken, and what one request's tensors may take in memory. Default 256 MB. */
  readonly maxMessageBytes?: number;
  /** What all requests hold together, shared with other wires. Default: one of its own, of twice the largest message. */
  readonly memory?: MemoryBudget;
  /** How long a client may take to send a message, in milliseconds. Default 300 000, as node:http gives a request. */
  readonly messageTimeoutMs?: number;
  /** How long a client may take nothing of an answer, in milliseconds; 0 = for ever. Default 60 000. */
  readonly sendTimeoutMs?: number;
  /** Whether answers carry numbers in `tensor_content` instead of typed fields. Default false. */
  readonly tensorContent?: boolean;
  /** How long a client may take to set up a connection, and to answer a ping, in milliseconds. Default 20 000. */
  readonly handshakeTimeoutMs?: number;
  /** Who may do what. Default: no client may change the server. */
  readonly policy?: AccessPolicy;
  /** Whether the log has a line for each request. Default false. */
  readonly accessLog?: boolean;
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

/** Calls of one connection at once; its others wait at the client. What a client does not read stays in our memory, so it must have a bound. */
const MAX_CONCURRENT_CALLS = 256;
/** What node:http gives a client for a whole request. */
const MESSAGE_TIMEOUT_MS = 300_000;
/** How long the answers of calls that were ended have to reach their clients. */
const LAST_WORDS_MS = 200;

/**
 * Serves tensorflow.serving.PredictionService, grpc.health.v1 and reflection.
 * Throws `unavailable` when it cannot listen.
 */
export async function createGrpcServer(service: InferenceService, options: GrpcServerOptions): Promise<GrpcServer> {
  const {
    host,
    log,
    tensorContent = false,
    policy = new AccessPolicy(),
    maxMessageBytes = SERVER_DEFAULTS.maxMessageBytes,
  } = options;
  const { memory = new MemoryBudget(2 * maxMessageBytes), messageTimeoutMs = MESSAGE_TIMEOUT_MS } = options;
  const sends = new SendWatch(options.sendTimeoutMs ?? SERVER_DEFAULTS.sendTimeoutMs);
  routeLibraryLog(log);
  const server = newServer({ maxMessageBytes, memory, messageTimeoutMs, sends }, log);
  const access = new AccessLog(log, options.accessLog === true);
  const connections = tuneHttp2(server, {
    access,
    watch: new ConnectionWatch(options.handshakeTimeoutMs ?? HANDSHAKE_TIMEOUT_MS),
  });
  if (connections === undefined)
    log.warn("gRPC is slower than it could be: this version of @grpc/grpc-js has no place for our HTTP/2 settings");
  if (!hasReceivePlace())
    log.warn("gRPC is slower than it could be: this version of Node.js has no place for our receive buffers");
  const openCalls = new OpenCalls();
  const context = { maxMessageBytes, log, access, policy, openCalls, routes: new Map<string, UnaryRoute>() };
  addTensorflowService(server, service, { ...context, tensorContent });
  addKserveService(server, service, context);
  const clock = new MessageClock(messageTimeoutMs);
  const streams = { memory, messageTimeoutMs, clock, sends, pool: new MessagePool() };
  for (const [path, route] of context.routes) {
    connections?.divert(path, toStreamHandler(route, { ...context, ...streams }));
  }
  addReflection(server);
  const injector =
    options.port === "shared" ? server.createConnectionInjector(ServerCredentials.createInsecure()) : undefined;
  const port = options.port === "shared" ? 0 : await listen(server, host, options.port);
  const health = new HealthService(service);
  health.addTo(server);
  let closed: Promise<void> | undefined;
  return {
    address: toAuthority(host, port),
    port,
    accept: (socket) => injector?.injectConnection(socket),
    close(drainTimeoutMs) {
      injector?.drain(drainTimeoutMs);
      closed ??= close({ server, health, openCalls, connections }, drainTimeoutMs);
      return closed;
    },
  };
}

function newServer(limits: IntakeLimits, log: Logger): Server {
  // channelz stays on: without it grpc-js forgets its sessions, and forceShutdown() cuts none of them.
  return new Server({
    "grpc.max_receive_message_length": limits.maxMessageBytes,
    "grpc.max_send_message_length": -1,
    "grpc.max_concurrent_streams": MAX_CONCURRENT_CALLS,
    interceptors: [createIntake(limits, log)],
  });
}

function listen(server: Server, host: string, port: number): Promise<number> {
  const address = toAuthority(host, port);
  return new Promise((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound);
      else reject(cannotListen(address, error));
    });
  });
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

/** grpc-js writes to the console, once more what it also throws; that belongs into our log, at its lowest levels. */
function routeLibraryLog(log: Logger): void {
  const write = (...parts: unknown[]) => log.debug(`grpc-js: ${parts.join(" ")}`);
  setLogger({ error: write, info: write, debug: write });
}
