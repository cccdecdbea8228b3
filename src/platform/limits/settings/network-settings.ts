import { ENCRYPTION_SETTINGS } from "./access-settings.ts";
import { PROTOCOL_SETTINGS } from "./protocol-settings.ts";
import { BOTH, PROXY, SERVE, type Setting } from "./setting.ts";

/** Settings of addresses and ports, of the answers there, and of the clients that may use them. */
export const NETWORK_SETTINGS = {
  grpcAddress: {
    type: "address",
    placeholder: "HOST:PORT",
    default: "127.0.0.1:9000",
    help: "gRPC server that answers the requests",
    details: "grpcs://HOST:PORT = encrypted.",
    commands: PROXY,
  },
  /** Address to listen on, gRPC and HTTP alike. Default 127.0.0.1. */
  host: {
    slice: "network",
    type: "host",
    placeholder: "HOST",
    default: "0.0.0.0",
    help: "address to listen on, for gRPC and HTTP",
    commands: BOTH,
  },
  /** gRPC port; 0 (default) picks a free one. */
  port: {
    slice: "network",
    type: "port",
    placeholder: "PORT",
    default: 9000,
    help: "gRPC port; 0 picks a free one",
    commands: SERVE,
  },
  /** Path of a Unix socket on which gRPC is served in addition to its port. */
  grpcSocketPath: {
    slice: "network",
    type: "text",
    placeholder: "PATH",
    help: "Unix socket that also serves gRPC",
    details: "Its owner and its group may connect; the socket of an ended server is replaced.",
    isPath: true,
    commands: SERVE,
  },
  /** Takes the path of that socket over if another server listens there, as in a rolling restart. Default false. */
  grpcSocketTakeover: {
    slice: "network",
    type: "boolean",
    default: false,
    help: "take the Unix socket over from a server that listens there",
    details: "For a restart without a gap: the other server keeps its connections until it ends.",
    commands: SERVE,
  },
  /** Serves gRPC on that socket alone, and on no port. Default false. */
  grpcSocketOnly: {
    slice: "network",
    type: "boolean",
    default: false,
    help: "serve gRPC on the Unix socket alone, and on no port",
    commands: SERVE,
  },
  /** Limits of gRPC connections as `KEY=VALUE`, such as `grpc.max_connection_age_ms=600000`. Default none. */
  grpcChannelArguments: {
    slice: "network",
    type: "list",
    separator: ",",
    isSplit: true,
    placeholder: "KEY=VALUE",
    help: "gRPC channel arguments that limit connections, separated by commas; repeatable",
    details: "[grpc.md](grpc.md#connections) lists those with an effect here; others are ignored with a warning.",
    commands: SERVE,
  },
  httpEnable: {
    type: "boolean",
    default: false,
    onWith: "httpPort",
    help: "serve HTTP too; also switched on by --http-port",
    commands: SERVE,
  },
  httpPort: { type: "port", placeholder: "PORT", default: 9001, help: "HTTP port; 0 picks a free one", commands: BOTH },
  httpServerCommand: {
    type: "command",
    placeholder: "COMMAND",
    help: "program to start as the HTTP server instead of the built-in one",
    details: "{grpc_address}, {grpc_port} and {http_port} in it are replaced.",
    commands: SERVE,
  },
  ...ENCRYPTION_SETTINGS,
  adminPort: {
    type: "port",
    placeholder: "PORT",
    help: "HTTP port for control and metrics, which no other port then answers",
    commands: SERVE,
  },
  adminHost: {
    type: "host",
    placeholder: "HOST",
    default: "127.0.0.1",
    help: "address of --admin-port",
    commands: SERVE,
  },
  metricsPort: {
    type: "port",
    placeholder: "PORT",
    help: "HTTP port for metrics, which no other port then has",
    commands: SERVE,
  },
  metricsHost: {
    type: "host",
    placeholder: "HOST",
    default: "0.0.0.0",
    help: "address of --metrics-port",
    commands: SERVE,
  },
  /** Serves a page for people at `/` and `/ui`. Default true. */
  ui: {
    slice: "protocols",
    type: "boolean",
    default: true,
    help: "serve a page for people at / and /ui over HTTP; --no-ui turns it off",
    details: "[page.md](page.md) says what it shows, and to whom.",
    commands: SERVE,
  },
  /**
   * Clients that may change the server (load and unload models, change the logging): programs on this machine, or
   * all. Default `off`: none.
   */
  allowControl: {
    slice: "access",
    type: "choice",
    choices: ["off", "local", "all"],
    bare: "all",
    placeholder: "[CLIENTS]",
    default: "off",
    help: "clients that may load models and change logging",
    details: "`local` = programs on this machine; `all` is meant where the flag stands alone.",
    commands: BOTH,
  },
  /** Origins whose web pages may run models: `*` or `SCHEME://HOST[:PORT]`. Default: none but the server's own. */
  corsOrigins: {
    slice: "access",
    flag: "cors-origin",
    type: "list",
    separator: ",",
    isSplit: true,
    placeholder: "ORIGIN",
    help: "origins whose web pages may run models, separated by commas, or *; repeatable",
    details: "For example https://app.example.com.",
    commands: BOTH,
  },
  ...PROTOCOL_SETTINGS,
  allowProxyHeaders: {
    type: "boolean",
    default: false,
    help: "let requests name the gRPC server: Proxy-Addr, Proxy-Port",
    details: "Clients can then reach whatever this machine reaches.",
    commands: PROXY,
  },
  versionEncoding: {
    type: "choice",
    choices: ["int32", "int64"],
    placeholder: "TYPE",
    default: "int32",
    help: "encoding of a model version in requests",
    details: "`int32` for servers of the original tool, `int64` for TensorFlow Serving and kserving.",
    commands: PROXY,
  },
} as const satisfies Record<string, Setting>;
