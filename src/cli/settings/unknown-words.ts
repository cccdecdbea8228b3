import { invalidArgument, type ServingError } from "../../errors.ts";
import { didYouMean } from "../../platform/text/nearest.ts";
import { COMMAND_NAMES } from "../command-names.ts";
import type { ForeignFlags } from "../foreign/foreign-flag.ts";
import { KSERVE_FLAGS } from "../foreign/kserve-flags.ts";
import { OVMS_FLAGS } from "../foreign/openvino-flags.ts";
import { SIMPLE_TENSORFLOW_FLAGS } from "../foreign/simple-tensorflow-serving-flags.ts";
import { TENSORFLOW_FLAGS } from "../foreign/tensorflow-flags.ts";
import { flagOf, SETTINGS, type SettingName } from "./settings.ts";

const SERVE = "kserving MODEL serves a model, kserving infer MODEL runs it once";
const LIST = "kserving client http://HOST:PORT --json shows the models of a server";
/** Commands of other programs, with what they are called here. */
const OTHER_VERBS: Readonly<Record<string, string>> = {
  ...{ run: SERVE, start: SERVE, up: SERVE, predict: SERVE, list: LIST, ls: LIST, ps: LIST, models: LIST },
  show: "kserving inspect MODEL shows a model",
  create: "kserving new project writes a folder to begin with",
  init: "kserving new project writes a folder to begin with",
  build: "kserving export docker writes a Dockerfile",
  pull: "kserving takes the address of a model in place of its path",
  stop: "SIGTERM or Ctrl-C ends a server",
  version: "kserving --version prints it",
};

/**
 * The error for a word that is neither a flag nor a path, and cannot stand where it
 * does; `isFirst` = a command may.
 */
export function unexpectedArgument(word: string, isFirst: boolean): ServingError {
  const isCommandName = COMMAND_NAMES.some((name) => name === word);
  const isMeantAsCommand = isFirst && !isCommandName && !/[./\\]/.test(word);
  const meant = Object.hasOwn(OTHER_VERBS, word) ? ` ${OTHER_VERBS[word]}.` : didYouMean(word, COMMAND_NAMES);
  const what = isMeantAsCommand
    ? `There is no command "${word}".${meant} Expected one of ${COMMAND_NAMES.join(", ")}`
    : `Unexpected argument "${word}"; a command comes first (${COMMAND_NAMES.join(", ")})`;
  return invalidArgument(`${what}; a model is the path of a file or folder.`);
}

const METRICS = "leave it out; GET /metrics at the HTTP port is always there";
const TLS = "write --tls-cert FILE and --tls-key FILE, and --tls-client-ca FILE where clients need a certificate";
const CONFIG = "write --config FILE; the file is read as it is";
const POLL = "write --poll-interval SECONDS";

/**
 * Flags of other servers in kebab-case without their dashes, and what to write here.
 * `--x` in the text is a flag of ours.
 */
const HINTS: Readonly<Record<string, string>> = {
  // TensorFlow Serving: https://github.com/tensorflow/serving/blob/master/tensorflow_serving/model_servers/main.cc
  "model-name": "write --model NAME=PATH with its path, or --name NAME with --model-path",
  "rest-api-port": "write --http-port PORT",
  "rest-api-timeout-in-ms": "write --request-timeout SECONDS",
  "model-base-path": "write --model NAME=PATH with its name",
  "model-config-file": CONFIG,
  "model-config-file-poll-wait-seconds": `${POLL}; models and their files are looked at together`,
  "enable-batching": "write -o max_batch_size=ROWS",
  "batching-parameters-file": `${CONFIG}, in addition to that of the models`,
  "platform-config-file": "write the options of the driver as -o KEY=VALUE; for ConfigProto -o session_config=TEXT",
  "monitoring-config-file": METRICS,
  "ssl-config-file": TLS,
  "file-system-poll-wait-seconds": POLL,
  "num-load-threads": "write --load-threads COUNT",
  "max-num-load-retries": "write --load-retries COUNT",
  "load-retry-interval-micros": "write --load-retry-interval SECONDS",
  "allow-version-labels-for-unavailable-models": "write --allow-pending-labels",
  "tensorflow-intra-op-parallelism": "write -o intra_op_threads=COUNT",
  "tensorflow-inter-op-parallelism": "write -o inter_op_threads=COUNT",
  "tensorflow-session-parallelism": "write --threads COUNT",
  "per-process-gpu-memory-fraction": "write -o gpu_memory_fraction=SHARE",
  "saved-model-tags": "write -o tags=LIST",
  "use-tflite-model": "leave it out; a .tflite file is recognised by its name",
  "enable-model-warmup":
    "write --saved-model-warmup 0 where it is false; what a SavedModel brings for its warm-up is run",
  "num-request-iterations-for-warmup": "write --saved-model-warmup COUNT",
  "enable-per-model-batching-parameters": "write --version-batching",
  "enable-signature-method-name-check": "write --check-method-names",
  // OpenVINO Model Server: https://docs.openvino.ai/2026/model-server/ovms_docs_parameters.html
  "rest-port": "write --http-port PORT",
  "rest-bind-address": "write --host ADDRESS, for gRPC and HTTP alike",
  "grpc-bind-address": "write --host ADDRESS, for gRPC and HTTP alike",
  "target-device": "write -o device=CPU",
  "plugin-config": "write -o plugin_config=JSON",
  "batch-size": "write -o batch_size=COUNT with the openvino driver, else -o max_batch_size=ROWS",
  shape: "write -o shape=SHAPE",
  layout: "write -o layout=LAYOUT",
  "cache-dir": "write -o cache_dir=FOLDER",
  "cpu-extension": "write -o extension=FILE",
  nireq: "leave it out; as many requests run side by side as the device has streams (-o num_streams=COUNT)",
  "config-path": CONFIG,
  "model-version-policy": "write versions: for the model in a file for --config",
  "metrics-enable": METRICS,
  stateful:
    "leave it out; a stateful model is recognised by its file, and -o state=reset starts afresh with each request",
  "grpc-workers": "leave it out; one process serves all connections",
  "rest-workers": "leave it out; one process serves all connections",
  // Triton: https://github.com/triton-inference-server/server/blob/main/src/command_line_parser.cc
  "model-store": "write --model-repository DIR",
  "grpc-port": "write --port PORT",
  "http-address": "write --host ADDRESS, for gRPC and HTTP alike",
  "grpc-address":
    "write --host ADDRESS and --port PORT; for a server elsewhere: kserving proxy --grpc-address HOST:PORT",
  "allow-http": "write --http-enable",
  "allow-grpc": "leave it out; gRPC is always served",
  "allow-metrics": METRICS,
  "model-control-mode": "write --model-control MODE",
  "repository-poll-secs": POLL,
  "model-load-thread-count": "write --load-threads COUNT",
  "exit-on-error": "write --fail-fast",
  "strict-model-config": "leave it out; what a model takes is read from its file",
  "backend-config": "write -o KEY=VALUE",
  "log-verbose": "write --log-level debug",
  "log-file": "write --log-path FILE",
  "exit-timeout-secs": "write --drain-timeout SECONDS",
  "http-restricted-api": "write --auth-rules FILE",
  "grpc-restricted-protocol": "write --auth-rules FILE",
  // Simple TensorFlow Serving, which has a default password
  "enable-auth": "write --auth-username NAME and --auth-password-file FILE",
  "auth-password": "write --auth-password-file FILE",
  // KServe's and MLServer's servers, TorchServe, and what people try first
  http: "write --http-enable, or --http-port PORT",
  rest: "write --http-enable, or --http-port PORT",
  grpc: "leave it out; gRPC is always served, at --port PORT",
  models: "write --model NAME=PATH for each",
  "model-dir": "write --model-path PATH",
  "model-uri": "write --model-path PATH; nothing is downloaded",
  "http-host": "write --host ADDRESS, for gRPC and HTTP alike",
  address: "write --host ADDRESS",
  bind: "write --host ADDRESS",
  device: "write -o device=CPU",
  hook: "write --hooks FILE",
  options: "write -o KEY=VALUE",
  backend: "write --driver NAME",
  runtime: "write --driver NAME",
  verbose: "write --log-level debug",
  debug: "write --log-level debug",
};

/**
 * Our own flag for one of another server, as the rest of a sentence; undefined for a flag of no server that we know.
 */
export function foreignFlagHint(argument: string): string | undefined {
  const name = (argument.split("=", 1)[0] as string).replace(/^-+/, "").replaceAll("_", "-").toLowerCase();
  if (Object.hasOwn(HINTS, name)) return HINTS[name];
  const own = (Object.keys(SETTINGS) as SettingName[]).map(flagOf).find((flag) => flag === `--${name}`);
  return own === undefined || own === argument ? undefined : `write ${own}`;
}

const TABLES: Readonly<Record<string, ForeignFlags>> = {
  "kserving tensorflow-model-server": TENSORFLOW_FLAGS,
  "kserving ovms": OVMS_FLAGS,
  "kserving simple-tensorflow-serving": SIMPLE_TENSORFLOW_FLAGS,
  "kserving kserve": KSERVE_FLAGS,
};

/** Our commands that take a flag of another server as it is: `--rest_api_port=8501`. */
export function commandsWithFlag(argument: string): readonly string[] {
  const [, name = ""] = /^--([^=]+)/.exec(argument) ?? [];
  return Object.keys(TABLES).filter((command) => Object.hasOwn(TABLES[command] as object, name));
}
