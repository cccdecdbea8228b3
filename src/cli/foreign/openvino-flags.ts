import { type ForeignFlags, ifGiven, ifPositive } from "./foreign-flag.ts";

const ONE_PROCESS = "one event loop serves all connections";
const GENERATIVE = "generative models are not served here";
const NO_DOWNLOAD = "models are not pulled into a folder here; model_path takes an address (docs/storage.md)";
const EDIT_IT =
  "configuration files are not written here; edit the file, and let kserving config check FILE look at it";
const ONE_ADDRESS = "`--host`, for gRPC and HTTP alike";
const CORS = "which pages may call is said by allowed_origins alone";

/** OpenVINO Model Server's WARNING is our warn. */
function toLogLevel(text: string): string {
  return text === "WARNING" ? "warn" : text.toLowerCase();
}

const PORTS = {
  port: {
    type: "integer",
    default: "0",
    setting: "port",
    toText: ifPositive,
    help: "gRPC port; without it gRPC is at the HTTP port",
  },
  rest_port: { type: "integer", default: "0", setting: "httpPort", toText: ifPositive, help: "HTTP port; 0 = no HTTP" },
  grpc_workers: { type: "integer", default: "1", unused: ONE_PROCESS, help: "gRPC servers" },
  rest_workers: { type: "integer", unused: ONE_PROCESS, help: "threads for HTTP" },
} as const satisfies ForeignFlags;

const MODEL = {
  model_name: { type: "text", field: "name", help: "name of the model" },
  model_path: { type: "text", field: "base_path", help: "folder of the model's versions, or of the model" },
  batch_size: { type: "text", field: "batch_size", help: "first dimension of all inputs, or auto" },
  shape: { type: "text", field: "shape", help: "shapes of inputs, such as (1,3,224,224) or auto" },
  model_version_policy: { type: "text", field: "model_version_policy", help: 'versions to serve, such as {"all": {}}' },
  nireq: {
    type: "integer",
    default: "0",
    unused: "as many requests run side by side as the device has streams (NUM_STREAMS in plugin_config)",
    help: "requests side by side",
  },
  target_device: {
    type: "text",
    default: "",
    field: "target_device",
    env: "DEVICE",
    help: "device that runs the model",
  },
  plugin_config: { type: "text", field: "plugin_config", help: "properties of the device's plugin, as JSON" },
} as const satisfies ForeignFlags;

const CONFIG = {
  config_path: {
    type: "text",
    setting: "config",
    toText: ifGiven,
    help: "file that describes the models, in place of model_name and model_path",
  },
} as const satisfies ForeignFlags;

const HELP = {
  help: { type: "boolean", default: "false", short: "h", own: "prints the flags", help: "print the flags" },
} as const;

/**
 * The flags of `ovms`, this year's and those that were there before:
 * https://github.com/openvinotoolkit/model_server/blob/main/src/cli_parser.cpp
 */
export const OVMS_FLAGS = {
  ...HELP,
  version: { type: "boolean", default: "false", own: "prints the version", help: "print the version" },
  ...PORTS,
  grpc_bind_address: { type: "text", default: "0.0.0.0", own: ONE_ADDRESS, help: "address of gRPC" },
  rest_bind_address: { type: "text", default: "0.0.0.0", own: ONE_ADDRESS, help: "address of HTTP" },
  grpc_max_threads: { type: "integer", unused: ONE_PROCESS, help: "threads for gRPC" },
  grpc_memory_quota: {
    type: "integer",
    unused: "`KSERVING_MAX_QUEUE_BYTES` bounds the memory of all requests",
    help: "memory of gRPC's server",
  },
  grpc_channel_arguments: {
    type: "text",
    setting: "grpcChannelArguments",
    help: "arguments of gRPC's server, separated by commas",
  },
  log_level: {
    type: "text",
    default: "INFO",
    setting: "logLevel",
    toText: toLogLevel,
    help: "TRACE, DEBUG, INFO, WARNING or ERROR",
  },
  log_path: { type: "text", setting: "logPath", toText: ifGiven, help: "file of the log" },
  verbose_response: { type: "boolean", default: "false", unused: GENERATIVE, help: "debugging in answers" },
  trace_path: { type: "text", unused: "nothing is traced", help: "file of traces" },
  file_system_poll_wait_seconds: {
    type: "integer",
    default: "1",
    setting: "pollIntervalMs",
    toText: (text) => String(Math.max(0, Number(text))),
    help: "time between looks for versions and at the file of the models; 0 looks once",
  },
  sequence_cleaner_poll_wait_minutes: {
    type: "integer",
    default: "5",
    unused: "there are no sequences",
    help: "time between looks for idle sequences",
  },
  custom_node_resources_cleaner_interval_seconds: {
    type: "integer",
    default: "300",
    unused: "there are no custom nodes",
    help: "time between cleanings",
  },
  cache_dir: { type: "text", option: "cache_dir", toText: ifGiven, help: "folder for compiled models" },
  metrics_enable: { type: "boolean", default: "false", own: "metrics are always at `/metrics`", help: "serve metrics" },
  metrics_list: { type: "text", default: "", unused: "all metrics are served", help: "metrics to serve" },
  cpu_extension: {
    type: "text",
    default: "",
    option: "extension",
    toText: ifGiven,
    help: "library of custom operations",
  },
  allowed_media_domains: { type: "text", unused: GENERATIVE, help: "domains of media" },
  allowed_local_media_path: { type: "text", unused: GENERATIVE, help: "folder of media" },
  allow_credentials: { type: "boolean", default: "false", unused: CORS, help: "web pages may send credentials" },
  allowed_origins: {
    type: "text",
    setting: "corsOrigins",
    toText: ifGiven,
    help: "origins whose web pages may run models; here none by default",
  },
  allowed_methods: { type: "text", default: "*", unused: CORS, help: "methods that web pages may send" },
  allowed_headers: { type: "text", default: "*", unused: CORS, help: "headers that web pages may send" },
  api_key_file: {
    type: "text",
    default: "",
    refused: "clients are not asked for keys here; let a proxy in front of the server do that",
    help: "file with a key that clients need",
  },
  ...CONFIG,
  ...MODEL,
  layout: {
    type: "text",
    field: "layout",
    help: "layout as clients send it and as the model takes it, such as NHWC:NCHW",
  },
  mean: { type: "text", field: "mean", help: "numbers to subtract" },
  scale: { type: "text", field: "scale", help: "numbers to divide by" },
  color_format: { type: "text", field: "color_format", help: "order of colours, such as RGB" },
  precision: { type: "text", unused: "numbers of other types are converted as they come", help: "type of the inputs" },
  stateful: {
    type: "boolean",
    default: "false",
    unused: "a stateful model is recognised by its file",
    help: "the model keeps a state",
  },
  idle_sequence_cleanup: {
    type: "boolean",
    default: "true",
    unused: "there are no sequences",
    help: "end idle sequences",
  },
  low_latency_transformation: {
    type: "boolean",
    default: "false",
    unused: "the model is taken as it is",
    help: "transform a stateful model",
  },
  max_sequence_number: {
    type: "integer",
    default: "500",
    unused: "there are no sequences",
    help: "sequences at a time",
  },
  list_models: { type: "boolean", default: "false", refused: EDIT_IT, help: "list the models of a repository" },
  add_to_config: { type: "boolean", default: "false", refused: EDIT_IT, help: "add a model to a file" },
  remove_from_config: { type: "boolean", default: "false", refused: EDIT_IT, help: "remove a model from a file" },
  configure: { type: "boolean", default: "false", refused: GENERATIVE, help: "write the graph of a generative model" },
  task: { type: "text", refused: GENERATIVE, help: "task of a generative model" },
  pull: { type: "boolean", default: "false", refused: NO_DOWNLOAD, help: "download a model" },
  source_model: { type: "text", refused: NO_DOWNLOAD, help: "model to download" },
  source_loras: { type: "text", refused: NO_DOWNLOAD, help: "adapters to download" },
  gguf_filename: { type: "text", refused: NO_DOWNLOAD, help: "file to download" },
  overwrite_models: { type: "boolean", default: "false", unused: NO_DOWNLOAD, help: "download again" },
  model_repository_path: { type: "text", unused: NO_DOWNLOAD, help: "folder for downloads" },
  "weight-format": { type: "text", unused: NO_DOWNLOAD, help: "precision of what is downloaded" },
  extra_quantization_params: { type: "text", unused: NO_DOWNLOAD, help: "quantization of what is downloaded" },
} as const satisfies ForeignFlags;

const BEFORE = {
  ...PORTS,
  port: { ...PORTS.port, default: "9000", help: "gRPC port" },
} as const satisfies ForeignFlags;

/** The subcommands of `ie_serving`, as OpenVINO Model Server was started until 2021. */
export const IE_SERVING_FLAGS = {
  model: { ...HELP, ...MODEL, ...BEFORE },
  config: { ...HELP, ...CONFIG, ...BEFORE },
} as const satisfies Record<string, ForeignFlags>;

/** Environment variables of `ie_serving` that do not stand for flags. */
export const IE_SERVING_VARIABLES = {
  FILE_SYSTEM_POLL_WAIT_SECONDS: OVMS_FLAGS.file_system_poll_wait_seconds,
  CPU_EXTENSION: OVMS_FLAGS.cpu_extension,
  PLUGIN_DIR: {
    type: "text",
    unused: "OpenVINO is looked for as docs/runtimes.md says",
    help: "folder of OpenVINO's plugins",
  },
} as const satisfies ForeignFlags;
