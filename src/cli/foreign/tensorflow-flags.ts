import type { ForeignFlags } from "./foreign-flag.ts";

const ONE_PROCESS = "one event loop serves all connections";
const NO_TFLITE_POOL = "a .tflite file is recognised by its name, and runs in one thread for each copy";

/** Value of a number that has to be above 0 to count. */
function ifPositive(text: string): string | undefined {
  return Number(text) > 0 ? text : undefined;
}

function ifGiven(text: string): string | undefined {
  return text === "" ? undefined : text;
}

/**
 * The flags of `tensorflow_model_server`:
 * https://github.com/tensorflow/serving/blob/master/tensorflow_serving/model_servers/main.cc
 */
export const TENSORFLOW_FLAGS = {
  port: { type: "integer", default: "8500", setting: "port", help: "gRPC port; 0 = none, with a Unix socket" },
  grpc_socket_path: {
    type: "text",
    default: "",
    setting: "grpcSocketPath",
    toText: ifGiven,
    help: "Unix socket for gRPC",
  },
  rest_api_port: {
    type: "integer",
    default: "0",
    setting: "httpPort",
    toText: ifPositive,
    help: "HTTP port; 0 = no HTTP",
  },
  rest_api_num_threads: { type: "integer", unused: ONE_PROCESS, help: "threads for HTTP" },
  rest_api_timeout_in_ms: {
    type: "integer",
    default: "30000",
    setting: "requestTimeout",
    toText: (text) => String(Math.max(0, Number(text)) / 1000),
    help: "maximum time of a request, in milliseconds; here for gRPC too, and without limit by default",
  },
  rest_api_enable_cors_support: {
    type: "boolean",
    default: "false",
    setting: "corsOrigin",
    toText: (text) => (text === "true" ? "*" : undefined),
    help: "let web pages of all origins run models",
  },
  enable_batching: {
    type: "boolean",
    default: "false",
    own: "`-o max_batch_size=1000`, unless the file says otherwise",
    help: "put requests together",
  },
  allow_version_labels_for_unavailable_models: {
    type: "boolean",
    default: "false",
    setting: "allowPendingLabels",
    help: "let labels point to versions that are not available",
  },
  batching_parameters_file: {
    type: "text",
    default: "",
    own: "the file's values as `-o` options, see models.md",
    help: "file with the parameters of batching",
  },
  enable_per_model_batching_parameters: {
    type: "boolean",
    default: "false",
    own: "`--version-batching`, in place of the values of batching_parameters_file",
    help: "parameters of batching in each version's folder",
  },
  model_config_file: {
    type: "text",
    default: "",
    setting: "config",
    toText: ifGiven,
    help: "file that describes the models, in place of model_name and model_base_path",
  },
  model_config_file_poll_wait_seconds: {
    type: "integer",
    default: "0",
    own: "above 0 the file is read again whenever the folders are looked at; 0 = it is read once",
    help: "time between looks at the file of the models",
  },
  model_name: {
    type: "text",
    default: "default",
    field: "name",
    help: "name of the model; with neither this nor the next, MODEL_NAME of the environment",
  },
  model_base_path: {
    type: "text",
    default: "",
    field: "path",
    help: "folder of the model's versions, an absolute path; without it, MODEL_BASE_PATH/MODEL_NAME of the environment",
  },
  num_load_threads: {
    type: "integer",
    default: "0",
    setting: "loadThreads",
    toText: (text) => String(Math.max(1, Number(text))),
    help: "models that are loaded at a time",
  },
  num_unload_threads: {
    type: "integer",
    default: "0",
    unused: "every model ends in its own thread",
    help: "models that are unloaded at a time",
  },
  max_num_load_retries: {
    type: "integer",
    default: "5",
    setting: "loadRetries",
    toText: (text) => String(Math.max(0, Number(text))),
    help: "further tries of a model that does not load",
  },
  load_retry_interval_micros: {
    type: "integer",
    default: "60000000",
    setting: "loadRetryInterval",
    toText: (text) => String(Math.max(0, Number(text)) / 1e6),
    help: "time between such tries, in microseconds",
  },
  file_system_poll_wait_seconds: {
    type: "integer",
    default: "1",
    setting: "pollInterval",
    help: "time between looks for versions; 0 looks once, a negative number never",
  },
  flush_filesystem_caches: {
    type: "boolean",
    default: "true",
    unused: "caches of files are left to the system",
    help: "flush caches of files after loading",
  },
  tensorflow_session_parallelism: {
    type: "integer",
    default: "0",
    own: "`-o intra_op_threads` and `-o inter_op_threads`",
    help: "threads of a session; 0 = the server's choice",
  },
  tensorflow_session_config_file: {
    type: "text",
    default: "",
    own: "`-o session_config` with the file's text",
    help: "file with a ConfigProto in text form",
  },
  tensorflow_intra_op_parallelism: {
    type: "integer",
    default: "0",
    option: "intra_op_threads",
    toText: ifPositive,
    help: "threads within an operator; 0 = the server's choice",
  },
  tensorflow_inter_op_parallelism: {
    type: "integer",
    default: "0",
    option: "inter_op_threads",
    toText: ifPositive,
    help: "operators side by side; 0 = the server's choice",
  },
  use_alts_credentials: {
    type: "boolean",
    default: "false",
    refused: "ALTS is Google's own; KSERVING_TLS_CERT and KSERVING_TLS_KEY encrypt",
    help: "credentials of Google's ALTS",
  },
  ssl_config_file: {
    type: "text",
    default: "",
    own: "gRPC is encrypted with the file's texts, HTTP is not: `--tls-scope grpc`",
    help: "file with keys and certificates",
  },
  platform_config_file: {
    type: "text",
    default: "",
    refused: "it replaces TensorFlow Serving's own parts; for ConfigProto use tensorflow_session_config_file",
    help: "file with a PlatformConfigMap",
  },
  per_process_gpu_memory_fraction: {
    type: "number",
    default: "0",
    option: "gpu_memory_fraction",
    toText: ifPositive,
    help: "share of a GPU's memory; 0 = TensorFlow's choice",
  },
  saved_model_tags: {
    type: "text",
    default: "serve",
    option: "tags",
    toText: (text) => (text === "serve" ? undefined : ifGiven(text)),
    help: "tags of the graph in a SavedModel, separated by commas",
  },
  grpc_channel_arguments: {
    type: "text",
    default: "",
    setting: "grpcChannelArguments",
    toText: ifGiven,
    help: "arguments of gRPC's server, separated by commas",
  },
  grpc_max_threads: { type: "integer", unused: ONE_PROCESS, help: "threads for gRPC" },
  enable_model_warmup: {
    type: "boolean",
    default: "true",
    own: "`--saved-model-warmup=0` where it is false",
    help: "run the requests that a SavedModel brings along",
  },
  num_request_iterations_for_warmup: {
    type: "integer",
    default: "0",
    own: "`--saved-model-warmup`, where it is above 0",
    help: "number of times that they are run",
  },
  version: { type: "boolean", default: "false", own: "prints the version", help: "print the version" },
  monitoring_config_file: {
    type: "text",
    default: "",
    own: "the file's path: `--tensorflow-metrics-path`; metrics are always on, ours at `/metrics`",
    help: "file that switches metrics on",
  },
  remove_unused_fields_from_bundle_metagraph: {
    type: "boolean",
    default: "true",
    unused: "graphs are not kept after loading",
    help: "free parts of a graph after loading",
  },
  prefer_tflite_model: {
    type: "boolean",
    default: "false",
    unused: NO_TFLITE_POOL,
    help: "take model.tflite of a SavedModel",
  },
  num_tflite_pools: { type: "integer", unused: NO_TFLITE_POOL, help: "pools of TFLite interpreters" },
  num_tflite_interpreters_per_pool: {
    type: "integer",
    default: "1",
    unused: NO_TFLITE_POOL,
    help: "interpreters in a pool",
  },
  enable_signature_method_name_check: {
    type: "boolean",
    default: "false",
    setting: "checkMethodNames",
    help: "compare a signature's method_name with the method",
  },
  xla_cpu_compilation_enabled: {
    type: "boolean",
    default: "false",
    unused: "`-o xla` compiles whole graphs instead",
    help: "allow XLA on CPUs",
  },
  xla_gpu_compilation_enabled: {
    type: "boolean",
    default: "false",
    unused: "`-o xla` compiles whole graphs instead",
    help: "allow XLA on GPUs",
  },
  enable_profiler: {
    type: "boolean",
    default: "true",
    unused: "there is no profiler service",
    help: "serve TensorFlow's profiler",
  },
  thread_pool_factory_config_file: {
    type: "text",
    default: "",
    unused: "sessions have TensorFlow's own threads",
    help: "file with a ThreadPoolConfig",
  },
  mixed_precision: {
    type: "text",
    default: "",
    unused: "the model is run as it is",
    help: "mixed precision of a graph",
  },
  skip_initialize_tpu: {
    type: "boolean",
    default: "false",
    unused: "there are no TPUs",
    help: "leave TPUs as they are",
  },
  enable_grpc_healthcheck_service: {
    type: "boolean",
    default: "false",
    unused: "gRPC's health service is always there",
    help: "serve gRPC's health service",
  },
  enable_serialization_as_tensor_content: {
    type: "boolean",
    default: "false",
    setting: "tensorContent",
    help: "send raw tensor_content",
  },
  help: { type: "boolean", default: "false", own: "prints the flags", help: "print the flags" },
} as const satisfies ForeignFlags;
