import { CONTROL_ACCESS } from "../../access/control-access.ts";
import { SERVER_DEFAULTS } from "../../limits/server-defaults.ts";
import { BOTH, PROXY, SERVE, type Setting } from "./setting.ts";

/** Settings of addresses, ports and protocols, and of the clients that may use them. */
export const NETWORK_SETTINGS = {
  grpcAddress: {
    type: "address",
    placeholder: "HOST:PORT",
    default: "127.0.0.1:9000",
    help: "gRPC server that answers the requests",
    commands: PROXY,
  },
  host: {
    type: "host",
    placeholder: "HOST",
    default: "0.0.0.0",
    help: "address to listen on, for gRPC and HTTP",
    commands: BOTH,
  },
  port: { type: "port", placeholder: "PORT", default: 9000, help: "gRPC port; 0 picks a free one", commands: SERVE },
  httpEnable: {
    type: "boolean",
    default: false,
    onWith: "httpPort",
    help: "serve HTTP too; --http-port does so as well",
    commands: SERVE,
  },
  httpPort: { type: "port", placeholder: "PORT", default: 9001, help: "HTTP port; 0 picks a free one", commands: BOTH },
  httpServerCommand: {
    type: "command",
    placeholder: "COMMAND",
    help: "program to start as the HTTP server instead of the built-in one",
    details: "{grpc_address}, {grpc_port} and {http_port} in it are filled in.",
    commands: SERVE,
  },
  allowControl: {
    type: "choice",
    choices: CONTROL_ACCESS,
    bare: "all",
    placeholder: "[CLIENTS]",
    default: SERVER_DEFAULTS.allowControl,
    help: "clients that may load models and change logging",
    details: "`local` = programs on this machine; `all` is meant where the flag stands alone.",
    commands: BOTH,
  },
  corsOrigin: {
    type: "list",
    separator: ",",
    placeholder: "ORIGIN",
    help: "origin whose web pages may run models, or *; repeatable",
    details: "For example https://app.example.com.",
    commands: BOTH,
  },
  tensorContent: {
    type: "boolean",
    default: SERVER_DEFAULTS.tensorContent,
    help: "send raw tensor_content to TensorFlow Serving clients",
    details: "It replaces the typed fields.",
    commands: SERVE,
  },
  requireModelSpec: {
    type: "boolean",
    default: SERVER_DEFAULTS.requireModelSpec,
    help: "refuse TensorFlow Serving requests that name no model",
    details: "Without this flag they go to the only model.",
    commands: SERVE,
  },
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
