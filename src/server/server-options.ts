import type { AuthenticationOptions } from "../access/authentication/open-authentication.ts";
import type { TlsPaths } from "../access/tls-files.ts";
import type { RawOptions } from "../drivers/option-table.ts";
import type { AnyHooks } from "../hooks/hooks.ts";
import { createSilentLogger, type Logger } from "../observability/logger.ts";
import type { RemoteTlsPaths } from "../pipeline/remote.ts";
import { SERVER_DEFAULTS, SETTING_TABLE, type SettingOptions } from "../platform/limits/settings/server-settings.ts";
import type { PlatformFolder } from "../serving/repository/formats/sagemaker.ts";
import type { StageOptions } from "../serving/repository/stage.ts";
import type { FatalRequestOptions, RequestLogOptions } from "../serving/request-log.ts";
import type { DownloadState } from "../storage/download-file.ts";
import type { InheritedSockets } from "./inherited-sockets.ts";
import type { NamedModelOptions, WarmUpOption } from "./named-model.ts";

/** The models to serve, the addresses to listen on, and all limits. */
export interface ServerOptions extends SettingOptions {
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
  /** False opens no port: requests come by {@link Server.predict} alone. Default true. */
  readonly listen?: boolean;
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
  /** Files that say who may call; by default no caller needs a name. They are read again when they change. */
  readonly auth?: AuthenticationOptions;
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
   * Keeps each request in a file while it runs, and for `kserving replay` if the process that runs its model ends
   * meanwhile, this one or the model's own. Default: none is kept.
   */
  readonly keepFatalRequests?: FatalRequestOptions;
  /**
   * Called while models are downloaded: at the beginning of each download, ten times a second at most, and at its end.
   * Default: it is logged alone.
   */
  readonly onDownload?: (state: DownloadState) => void;
  /** Default: silent. */
  readonly log?: Logger;
}

/** Free ports of this machine alone: others are to be asked for. */
const EMBEDDED_DEFAULTS = {
  ...SERVER_DEFAULTS,
  host: "127.0.0.1",
  port: 0,
  name: SETTING_TABLE.name.default,
  tracing: false,
  options: {},
};

/** Options with what they leave out, but for the models. */
export type ServerChoices = ServerOptions &
  Required<Pick<ServerOptions, keyof typeof EMBEDDED_DEFAULTS | "log">> & {
    /** Folder from which a platform loads models; absent = no platform does. */
    readonly platform?: PlatformFolder | undefined;
    /** True for a start that goes on if no model has a version yet. */
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
