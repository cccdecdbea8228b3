import { Server, ServerCredentials, setLogger } from "@grpc/grpc-js";
import { reasonText, ServingError } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";
import type { InferenceService } from "../serving/inference-service.ts";
import { loadDescriptors } from "./descriptors.ts";
import { createHealthService, type HealthService } from "./health-service.ts";
import { widenWindows } from "./http2-windows.ts";
import { addReflection } from "./reflection.ts";
import { addTensorflowService } from "./tensorflow-service.ts";

/** Where and how to listen. */
export interface GrpcServerOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** The largest message taken, and what one request's tensors may take in memory. Default 256 MB. */
  readonly maxMessageBytes?: number;
  /** Whether answers carry numbers in `tensor_content` instead of typed fields. Default false. */
  readonly tensorContent?: boolean;
  readonly log: Logger;
}

/** A gRPC server that listens. */
export interface GrpcServer {
  /** `host:port`. */
  readonly address: string;
  readonly port: number;
  /** Health says NOT_SERVING, new calls are refused, those under way have `drainTimeoutMs` to finish, then connections are cut. */
  close(drainTimeoutMs: number): Promise<void>;
}

const DEFAULT_MAX_MESSAGE_BYTES = 256 * 1024 * 1024;

/**
 * Serves tensorflow.serving.PredictionService, grpc.health.v1 and reflection.
 * Throws `unavailable` when it cannot listen.
 */
export async function createGrpcServer(service: InferenceService, options: GrpcServerOptions): Promise<GrpcServer> {
  const { host, log, tensorContent = false, maxMessageBytes = DEFAULT_MAX_MESSAGE_BYTES } = options;
  routeLibraryLog(log);
  const server = new Server({
    "grpc.max_receive_message_length": maxMessageBytes,
    "grpc.max_send_message_length": -1,
    "grpc.enable_channelz": 0,
  });
  if (!widenWindows(server))
    log.debug("HTTP/2 windows stay at their defaults: this @grpc/grpc-js has no place for them");
  const descriptors = loadDescriptors();
  addTensorflowService(server, service, { maxMessageBytes, tensorContent, log });
  addReflection(server, descriptors);
  const port = await listen(server, host, options.port);
  const health = createHealthService(service);
  health.addTo(server, descriptors);
  let closed: Promise<void> | undefined;
  return {
    address: hostPort(host, port),
    port,
    close: (drainTimeoutMs) => {
      closed ??= close(server, health, drainTimeoutMs);
      return closed;
    },
  };
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

async function close(server: Server, health: HealthService, drainTimeoutMs: number): Promise<void> {
  health.shutDown();
  const drained = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
  const cut = setTimeout(() => server.forceShutdown(), drainTimeoutMs);
  await drained;
  clearTimeout(cut);
}

function hostPort(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** grpc-js writes to the console, once more what it also throws; that belongs into our log, at its lowest levels. */
function routeLibraryLog(log: Logger): void {
  const write = (...parts: unknown[]) => log.debug(`grpc-js: ${parts.join(" ")}`);
  setLogger({ error: write, info: write, debug: write });
}
