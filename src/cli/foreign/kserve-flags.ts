import type { ForeignFlags } from "./foreign-flag.ts";

const THREADS = "its own threads answer, as many as the machine or container has processors";

/**
 * The arguments of KServe's Python servers (kserve/model_server.py, and those of
 * sklearnserver, xgbserver and lgbserver).
 */
export const KSERVE_FLAGS = {
  model_name: { type: "text", default: "model", help: "name of the model", field: "name" },
  model_dir: { type: "text", default: "/mnt/models", help: "folder or address of the model", field: "path" },
  http_port: { type: "integer", default: "8080", help: "HTTP port", setting: "httpPort" },
  grpc_port: { type: "integer", default: "8081", help: "gRPC port", setting: "port" },
  grpc_max_receive_message_length: {
    type: "integer",
    default: "8388608",
    help: "largest gRPC message in bytes; here of HTTP too",
    setting: "maxMessageBytes",
  },
  nthread: { type: "integer", help: "threads of one run of the model", setting: "threads" },
  framework: { type: "text", help: "driver of the model", field: "driver" },
  hooks: { type: "text", help: "hook file; not an argument of KServe's own servers", field: "hooks" },
  enable_latency_logging: {
    type: "text",
    default: "true",
    help: "log a line for each request; here only where it is given",
    setting: "accessLog",
    toText: (text) => (isTrue(text) ? "true" : undefined),
  },
  enable_grpc: { type: "text", default: "true", help: "serve gRPC", unused: "gRPC is always served" },
  workers: { type: "integer", default: "1", help: "processes of the server", unused: THREADS },
  max_threads: { type: "integer", default: "4", help: "threads for gRPC", unused: THREADS },
  max_asyncio_workers: { type: "integer", help: "threads of the event loop", unused: THREADS },
  grpc_max_send_message_length: {
    type: "integer",
    default: "8388608",
    help: "largest gRPC answer in bytes",
    unused: "answers have no limit of their own",
  },
  enable_docs_url: {
    type: "text",
    default: "false",
    help: "a page with the API",
    unused: "/docs is such a page, unless `--no-ui` turns it off",
  },
  configure_logging: { type: "text", default: "true", help: "set up logging", unused: "KSERVING_LOG_LEVEL does" },
  log_config_file: { type: "text", help: "settings of logging", unused: "KSERVING_LOG_LEVEL does" },
  access_log_format: { type: "text", help: "form of the access log", unused: "a line is JSON" },
  "event-loop": { type: "text", default: "auto", help: "event loop", unused: "Node.js has one" },
  "timeout-keep-alive": {
    type: "integer",
    default: "65",
    help: "idle seconds of an HTTP connection",
    unused: "it is closed after 75 seconds",
  },
  predictor_host: {
    type: "text",
    help: "address of the predictor of a transformer",
    refused: "hooks run next to the model, in the predictor: --hooks names their file",
  },
  protocol: { type: "text", default: "v1", help: "protocol to the predictor", unused: "every protocol is served" },
  predictor_protocol: {
    type: "text",
    default: "v1",
    help: "protocol to the predictor",
    unused: "every protocol is served",
  },
} as const satisfies ForeignFlags;

function isTrue(text: string): boolean {
  return /^(?:y|yes|t|true|on|1)$/i.test(text);
}
