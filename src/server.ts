import type { TensorSpec } from "./drivers/driver.ts";
import type { RawOptions } from "./drivers/option-table.ts";
import { ServingError } from "./errors.ts";
import type { Hooks } from "./hooks/hooks.ts";
import type { ModelHandle } from "./model-host/model-handle.ts";
import { createSilentLogger, type Logger } from "./observability/logger.ts";
import { loadServable, type ModelOptions } from "./repository/load-servable.ts";
import type { InFlight } from "./serving/admission.ts";
import { Catalog } from "./serving/catalog.ts";
import type { InferenceService } from "./serving/inference-service.ts";
import { LocalService } from "./serving/local-service.ts";

/** What to serve, and where. */
export interface ServerOptions {
  /** The stages, in order. */
  readonly models: readonly ModelOptions[];
  /** A hook file's path, or hooks as they are. */
  readonly hooks?: string | Hooks;
  /** `-o` options for all drivers and the hooks. */
  readonly options?: RawOptions;
  /** The model's name on every wire. Default `default`. */
  readonly name?: string;
  /** Address to listen on, gRPC and HTTP alike. Default 127.0.0.1. */
  readonly host?: string;
  /** gRPC port; 0 (default) picks a free one. */
  readonly port?: number;
  /** Serves HTTP too; port 0 (default) picks a free one. */
  readonly http?: { readonly port?: number };
  /** The largest message or body taken, in bytes. Default 256 MB. */
  readonly maxMessageBytes?: number;
  /** Whether TensorFlow Serving answers carry raw `tensor_content` instead of typed fields. Default false. */
  readonly tensorContent?: boolean;
  /** How long {@link Server.close} waits for requests under way. Default 25 s. */
  readonly drainTimeoutMs?: number;
  /** Default: silent. */
  readonly log?: Logger;
}

/** A running server. */
export interface Server {
  /** `host:port`. */
  readonly grpcAddress: string;
  /** `http://host:port`, where HTTP is served. */
  readonly httpUrl: string | undefined;
  readonly service: InferenceService;
  readonly stages: readonly StageSummary[];
  /** The requests under way, oldest first. */
  inFlight(): readonly InFlight[];
  /**
   * Takes no new requests, finishes those under way, frees the models.
   * Rejects with `deadline_exceeded` when requests were still under way at the drain timeout; their models stay loaded, since a run cannot be stopped.
   */
  close(): Promise<void>;
}

/** One stage of a running server. */
export interface StageSummary {
  /** From 1. */
  readonly index: number;
  readonly driver: string;
  readonly path: string;
  readonly inputs: readonly TensorSpec[] | undefined;
  readonly outputs: readonly TensorSpec[] | undefined;
  readonly loadMs: number;
}

/** 256 MB: room for a batch of large images, far below what would hurt a machine. */
const MAX_MESSAGE_BYTES = 256 * 1024 * 1024;
/** Below the 30 s after which container platforms kill. */
const DRAIN_TIMEOUT_MS = 25_000;

/**
 * Loads models and hooks, then listens. Installs no signal handlers and never ends the process.
 * Throws `failed_precondition` for a model or hook file that does not load, before any port opens.
 */
export async function createServer(options: ServerOptions): Promise<Server> {
  const log = options.log ?? createSilentLogger();
  const remote = await createRemote();
  const { name = "default", models, hooks, options: raw = {} } = options;
  const source = { name, version: 1n, models, options: raw, ...(hooks !== undefined && { hooks }) };
  const loaded = await loadServable(source, { remote, log });
  const catalog = new Catalog();
  catalog.add(loaded.servable);
  const service = new LocalService(catalog);
  const closeModels = async () => {
    await loaded.servable.close();
    await remote.close();
  };
  try {
    const wires = await openWires(service, options, log);
    return toServer({
      wires,
      service,
      models: loaded.models,
      closeModels,
      drainTimeoutMs: options.drainTimeoutMs ?? DRAIN_TIMEOUT_MS,
    });
  } catch (reason) {
    await closeModels();
    throw reason;
  }
}

interface Wires {
  readonly grpcAddress: string;
  readonly httpUrl: string | undefined;
  close(drainTimeoutMs: number): Promise<void>;
}

async function createRemote() {
  const { RemotePool } = await import("./grpc/remote-pool.ts");
  return new RemotePool();
}

async function openWires(service: InferenceService, options: ServerOptions, log: Logger): Promise<Wires> {
  const { host = "127.0.0.1", port = 0, http, tensorContent = false, maxMessageBytes = MAX_MESSAGE_BYTES } = options;
  const { createGrpcServer } = await import("./grpc/grpc-server.ts");
  const grpc = await createGrpcServer(service, { host, port, maxMessageBytes, tensorContent, log });
  if (http === undefined) return { grpcAddress: grpc.address, httpUrl: undefined, close: (ms) => grpc.close(ms) };
  try {
    const { createHttpServer } = await import("./proxy/http-server.ts");
    const proxy = await createHttpServer(service, { host, port: http.port ?? 0, maxMessageBytes, log });
    const close = async (ms: number) => {
      await Promise.all([grpc.close(ms), proxy.close(ms)]);
    };
    return { grpcAddress: grpc.address, httpUrl: proxy.url, close };
  } catch (reason) {
    await grpc.close(0);
    throw reason;
  }
}

interface ServerParts {
  readonly wires: Wires;
  readonly service: LocalService;
  readonly models: readonly ModelHandle[];
  readonly closeModels: () => Promise<void>;
  readonly drainTimeoutMs: number;
}

function toServer({ wires, service, models, closeModels, drainTimeoutMs }: ServerParts): Server {
  let closed: Promise<void> | undefined;
  const close = async () => {
    service.admission.close();
    await wires.close(drainTimeoutMs);
    const stuck = service.admission.list();
    if (stuck.length > 0) {
      throw new ServingError(
        "deadline_exceeded",
        `${stuck.length} requests were still under way after ${drainTimeoutMs} ms.`,
      );
    }
    await closeModels();
  };
  return {
    grpcAddress: wires.grpcAddress,
    httpUrl: wires.httpUrl,
    service,
    stages: models.map(summarize),
    inFlight: () => service.admission.list(),
    close: () => {
      closed ??= close();
      return closed;
    },
  };
}

function summarize(model: ModelHandle, index: number): StageSummary {
  const { driver, path, loadMs, signatures, defaultSignature } = model;
  const { inputs, outputs } = signatures[defaultSignature] ?? {};
  return { index: index + 1, driver, path, inputs, outputs, loadMs };
}
