import type { AuthenticationOptions } from "../access/authentication/open-authentication.ts";
import type { ControlAccess } from "../access/control-access.ts";
import type { TlsPaths } from "../access/tls-files.ts";
import type { RawOptions } from "../drivers/option-table.ts";
import type { AnyHooks } from "../hooks/hooks.ts";
import { SERVER_DEFAULTS } from "../limits/server-defaults.ts";
import { createSilentLogger, type Logger } from "../observability/logger.ts";
import type { RemoteTlsPaths } from "../pipeline/remote.ts";
import type { ArchiveHooks } from "../repository/archive-hooks.ts";
import type { PlatformFolder } from "../repository/formats/sagemaker.ts";
import type { StageOptions } from "../repository/stage.ts";
import type { FatalRequestOptions, RequestLogOptions } from "../serving/request-log.ts";
import type { DownloadState } from "../storage/download-progress.ts";
import type { InheritedSockets } from "./inherited-sockets.ts";
import type { NamedModelOptions, WarmUpOption } from "./named-model.ts";

/** The models to serve, the addresses to listen on, and all limits. */
export interface ServerOptions {
  /** The stages of one pipeline, in order, served as version 1; it is this or {@link models}. */
  readonly stages?: readonly StageOptions[];
  /** A name by which clients also find the model while there is only one. Default: none. */
  readonly alias?: string;
  /** Models by the names that clients call. */
  readonly models?: Readonly<Record<string, NamedModelOptions>>;
  /** The pipeline's hooks: a file's path, or hooks as they are. */
  readonly hooks?: string | AnyHooks;
  /** `-o` options for all the pipeline's drivers and its hooks. */
  readonly options?: RawOptions;
  /** Requests that the pipeline runs before it is available; one that fails fails the start. */
  readonly warmup?: WarmUpOption | readonly WarmUpOption[];
  /** The pipeline's name on every wire. Default `default`. */
  readonly name?: string;
  /** Address to listen on, gRPC and HTTP alike. Default 127.0.0.1. */
  readonly host?: string;
  /** False opens no port: requests come by {@link Server.predict} alone. Default true. */
  readonly listen?: boolean;
  /** gRPC port; 0 (default) picks a free one. */
  readonly port?: number;
  /** Path of a Unix socket on which gRPC is served in addition to its port. */
  readonly grpcSocketPath?: string;
  /** Takes the path of that socket over where another server listens there, as in a rolling restart. Default false. */
  readonly grpcSocketTakeover?: boolean;
  /** Serves gRPC on that socket alone, and on no port. Default false. */
  readonly grpcSocketOnly?: boolean;
  /** Limits of gRPC connections as `KEY=VALUE`, such as `grpc.max_connection_age_ms=600000`. Default none. */
  readonly grpcChannelArguments?: readonly string[];
  /** Serves HTTP too; port 0 (default) picks a free one, the gRPC port's number shares it. */
  readonly http?: { readonly port?: number };
  /**
   * Serves calls that change the server, and metrics, over HTTP at this address only. Default host 127.0.0.1, port 0
   * (default) picks a free one.
   */
  readonly admin?: { readonly host?: string; readonly port?: number };
  /**
   * Serves metrics over HTTP at this address only. Default host as of the other ports,
   * port 0 (default) picks a free one.
   */
  readonly metrics?: { readonly host?: string; readonly port?: number };
  /** Descriptors of listening TCP sockets with which the program was started; they replace the hosts and ports. */
  readonly sockets?: InheritedSockets;
  /**
   * Encrypts gRPC and HTTP by TLS, or gRPC alone (`scope: "grpc"`); with `clientCa` clients need a certificate of that
   * authority. Paths of PEM files, which are read again when they change, or PEM texts.
   */
  readonly tls?: TlsPaths;
  /** Files for `ctx.remote("grpcs://HOST:PORT")`: the authority of other servers, and the certificate to show them. */
  readonly remoteTls?: RemoteTlsPaths;
  /**
   * File of this server's credentials at others, for `ctx.remote`: lines of `HOST:PORT USER:PASSWORD` or
   * `HOST:PORT Bearer TOKEN`.
   */
  readonly remoteAuthFile?: string;
  /** The largest message or body taken, in bytes. Default 256 MB. */
  readonly maxMessageBytes?: number;
  /** Sends raw `tensor_content` instead of typed fields in TensorFlow Serving answers. Default false. */
  readonly tensorContent?: boolean;
  /**
   * Refuses gRPC requests of TensorFlow Serving's protocol that name no model, as TensorFlow Serving does; else they go
   * to the only model. Default false.
   */
  readonly requireModelSpec?: boolean;
  /**
   * Refuses calls of TensorFlow Serving's protocol whose method is not that of the
   * signature's method name. Default false.
   */
  readonly checkMethodNames?: boolean;
  /**
   * True to leave out the names in an output filter of TensorFlow Serving's protocol, and among the outputs of a KServe
   * V2 request, that are not outputs, as OpenVINO Model Server does; such names alone mean all outputs. Default false.
   */
  readonly ignoreUnknownOutputs?: boolean;
  /** Lets clients of KServe V2 register shared memory of this machine, in which their tensors are. Default false. */
  readonly allowClientShm?: boolean;
  /** URL of the metrics that have TensorFlow Serving's names. Default `/monitoring/prometheus/metrics`. */
  readonly tensorflowMetricsPath?: string;
  /**
   * Answers `/health` with a text, and `/v1/models/NAME` with further members, as Simple
   * TensorFlow Serving does. Default false.
   */
  readonly simpleTensorflowServing?: boolean;
  /** Answers `/` and `/v1/models` as KServe's V1 protocol has them. Default false. */
  readonly kserveRoutes?: boolean;
  /**
   * Answers `/v1/models/NAME/metadata` with protobuf's own names of fields, as OpenVINO
   * Model Server does. Default false.
   */
  readonly openvinoMetadata?: boolean;
  /** Serves a page for people at `/` and `/ui`. Default true. */
  readonly ui?: boolean;
  /**
   * Clients that may change the server (load and unload models, change what is logged): programs on this machine, or
   * all. Default `off`: none.
   */
  readonly allowControl?: ControlAccess;
  /** Files that say who may call; by default no caller needs a name. They are read again when they change. */
  readonly auth?: AuthenticationOptions;
  /** Origins whose web pages may run models: `*` or `SCHEME://HOST[:PORT]`. Default: none but the server's own. */
  readonly corsOrigins?: readonly string[];
  /** Connections of both ports at a time; 0 = no limit. Default 16 384. */
  readonly maxConnections?: number;
  /** Threads that accept connections, and read and write messages, at the same ports. Default 1: the main thread. */
  readonly listeners?: number;
  /** Property that distinguishes clients: `address` (of IPv6 the /64), `user`, or `header:NAME`. Default `address`. */
  readonly clientKey?: string;
  /** Requests per second of each client; 0 = no limit. Default 0. */
  readonly clientRate?: number;
  /** Requests that a client may send at once after a pause. Default: those of a second. */
  readonly clientBurst?: number;
  /** Requests of each client at a time; 0 = no limit. Default 0. */
  readonly clientMaxInFlight?: number;
  /** Proxies whose `X-Forwarded-For` is believed: `ADDRESS`, `ADDRESS/BITS` or `unix:`. Default none. */
  readonly trustedProxies?: readonly string[];
  /** Logs a line for each request: model, version, status, sizes and times. Default false. */
  readonly accessLog?: boolean;
  /**
   * Sends clients the times of their requests: HTTP's header `Server-Timing`, gRPC's
   * trailer of that name. Default false.
   */
  readonly serverTiming?: boolean;
  /**
   * Sends traces of requests to the collector that OpenTelemetry's variables of the environment name, such as
   * OTEL_EXPORTER_OTLP_ENDPOINT. Default false.
   */
  readonly tracing?: boolean;
  /**
   * Records requests and their answers in files, those of every model whose own options
   * say nothing else. Default: none are.
   */
  readonly requestLog?: RequestLogOptions;
  /**
   * Keeps each request in a file while it runs, and for `kserving replay` where the process that runs its model ends
   * meanwhile, this one or the model's own. Default: none is kept.
   */
  readonly keepFatalRequests?: FatalRequestOptions;
  /** Threads that run the hook file; 0 = hooks run in the main thread. Default 1. */
  readonly workers?: number;
  /** Copies of each model, each in a thread of its own. Default 1. */
  readonly instances?: number;
  /** Runs each copy in a process of its own, so that a crash of its runtime costs its requests alone. Default false. */
  readonly isolate?: boolean;
  /** Threads that each copy's runtime may use. Default: the cores divided by the instances. */
  readonly threads?: number;
  /** Time after which a hook's pending promise fails its request; 0 = never. Default 60 s. */
  readonly hookTimeoutMs?: number;
  /** Time after which a hook thread whose event loop hangs is replaced; 0 = never. Default 10 s. */
  readonly hookStallMs?: number;
  /** Time after which a model thread whose event loop hangs is replaced; 0 = never. Default 60 s. */
  readonly modelStallMs?: number;
  /** Runs of each warm-up request in a SavedModel; 0 = none. Default 1. */
  readonly savedModelWarmup?: number;
  /**
   * Batches a version of a named model as the `batching_params.pbtxt` in its folder
   * says, before its own options. Default false.
   */
  readonly versionBatching?: boolean;
  /** Lets small models share threads, as soon as there are more of them than cores. Default true. */
  readonly shareThreads?: boolean;
  /**
   * Memory that a hook thread may hold in its JavaScript heap, and as much again in buffers, in megabytes. Default
   * 2048.
   */
  readonly hookMemoryMb?: number;
  /** Lets a debugger attach to the hook threads. Default false. */
  readonly inspectHooks?: boolean;
  /** Milliseconds that a model may take to load before it is given up; 0 = no limit. Default 10 minutes. */
  readonly loadTimeoutMs?: number;
  /** Fails the start where any model cannot be loaded; else it fails where none can. Default false. */
  readonly failFast?: boolean;
  /** Further tries where a model cannot be loaded. Default 5. */
  readonly loadRetries?: number;
  /** The longest wait before a further try; the first is a second, each is twice the one before. Default 60 s. */
  readonly loadRetryMs?: number;
  /** Models that load at once, at most. Default 4. */
  readonly loadThreads?: number;
  /**
   * Milliseconds without a request after which a version gives its threads and memory back, until the next request
   * loads it again; 0 = never. Default 0.
   */
  readonly idleUnloadMs?: number;
  /**
   * Bytes that all loaded models may take together: idle ones are unloaded for others, the least recently used first,
   * until the next request; 0 = no limit. Default 0.
   */
  readonly modelMemoryBytes?: number;
  /**
   * Refuses to load models whose files do not fit into the free memory of the machine or its container. Default true.
   */
  readonly memoryCheck?: boolean;
  /** Folder for models that are downloaded. Default: `kserving/models` in the user's folder for caches. */
  readonly modelCache?: string;
  /**
   * Runs hook files that downloaded models have: `own` = those at addresses that this program names, and none at those
   * that clients name; `on` and `off` = all and none. Default `own`.
   */
  readonly archiveHooks?: ArchiveHooks;
  /** Bytes of that folder at most: the models that were used least recently make room; 0 = no limit. Default 20 GB. */
  readonly modelCacheBytes?: number;
  /** Milliseconds between two looks at the same address of another server; 0 = only on request. Default 30 s. */
  readonly storagePollMs?: number;
  /**
   * Called while models are downloaded: at the beginning of each download, ten times a second at most, and at its end.
   * Default: it is logged alone.
   */
  readonly onDownload?: (state: DownloadState) => void;
  /** Says that it is ready only when every version that should be served is available. Default false. */
  readonly strictReadiness?: boolean;
  /** Lets a label point to a version that is not available. Default false. */
  readonly allowLabelsForUnavailable?: boolean;
  /** Requests under way at most, waiting or running; more are refused with `unavailable`. Default 1024. */
  readonly maxQueue?: number;
  /**
   * Requests that are remembered for each model, and not run any more, since they have ended the process or thread that
   * ran them; 0 = none. Default 64.
   */
  readonly poisonRequests?: number;
  /** Bytes of the requests under way at most. Default 512 MB. */
  readonly maxQueueBytes?: number;
  /**
   * Time after which a request fails with `deadline_exceeded`, where its client sets no
   * earlier deadline; 0 = never. Default 0.
   */
  readonly requestTimeoutMs?: number;
  /** Milliseconds that a client may take nothing of an answer before it is cut; 0 = no limit. Default 60 s. */
  readonly sendTimeoutMs?: number;
  /**
   * Bytes per second that a client sends of a message or takes of an answer at least, over 30 s; slower ones are ended.
   * 0 = no limit. Default 1024.
   */
  readonly minClientRate?: number;
  /** Milliseconds that {@link Server.close} waits for requests under way. Default 20 s. */
  readonly drainTimeoutMs?: number;
  /** Default: silent. */
  readonly log?: Logger;
}

/** Free ports of this machine alone: others are to be asked for. */
const EMBEDDED_DEFAULTS = { ...SERVER_DEFAULTS, host: "127.0.0.1", port: 0, options: {} };

/** Options with what they leave out, but for what is served. */
export type ServerChoices = ServerOptions &
  Required<Pick<ServerOptions, keyof typeof EMBEDDED_DEFAULTS | "log">> & {
    /** Folder from which a platform loads models; absent = no platform does. */
    readonly platform?: PlatformFolder | undefined;
    /** True for a start that goes on where no model has a version yet. */
    readonly mayBeEmpty?: boolean | undefined;
    /** Name of a model for which no other has to wait: it ran when an earlier process of this server died. */
    readonly loadedLast?: string | undefined;
    /** The `-o` keys that were given for all models. */
    readonly keysForAll?: readonly string[];
  };

/** The options with their defaults. An option that is undefined counts as left out. */
export function withDefaults(options: ServerOptions): ServerChoices {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { ...EMBEDDED_DEFAULTS, log: createSilentLogger(), ...Object.fromEntries(given) } as ServerChoices;
}
