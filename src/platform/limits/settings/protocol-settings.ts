import { BOTH, SERVE, type Setting } from "./setting.ts";

/** Names of the protocols that may be left out. */
export const OPTIONAL_PROTOCOLS = [
  ...["openai", "ollama", "anthropic", "kserve", "kserve-v1", "tensorflow-serving", "simple-tensorflow-serving"],
  ...["kibernetika", "sagemaker", "functions"],
] as const;
const NAME = `(?:${OPTIONAL_PROTOCOLS.join("|")})`;

/** Checks for a protocol that a text of {@link PROTOCOL_SETTINGS} does not leave out. */
export function isChosenProtocol(name: string, setting: string): boolean {
  const names = setting.split(",", OPTIONAL_PROTOCOLS.length);
  if (setting === "all" || !(OPTIONAL_PROTOCOLS as readonly string[]).includes(name)) return true;
  return setting.startsWith("-") ? !names.includes(`-${name}`) : names.includes(name);
}

/** Settings of what protocols answer, over gRPC and HTTP. */
export const PROTOCOL_SETTINGS = {
  /** Protocols that are served, by their names; `-NAME` = all but that. Default `all`. */
  servedProtocols: {
    slice: "protocols",
    flag: "protocols",
    type: "text",
    form: {
      expected: `all, or names separated by commas, each or none of them behind a -: ${OPTIONAL_PROTOCOLS.join(", ")}`,
      pattern: new RegExp(`^(?:all|${NAME}(?:,${NAME})*|-${NAME}(?:,-${NAME})*)$`),
    },
    placeholder: "NAMES",
    default: "all",
    help: "protocols that are served; -NAME leaves one out",
    details: `Their names are ${OPTIONAL_PROTOCOLS.map((name) => `\`${name}\``).join(", ")}; write \`--protocols=-ollama,-anthropic\` for all but these. The page needs \`kserve\`, and requests about texts that come by a \`kserving proxy\` need \`functions\`.`,
    commands: BOTH,
  },
  /** Sends raw `tensor_content` instead of typed fields in TensorFlow Serving answers. Default false. */
  tensorContent: {
    slice: "protocols",
    type: "boolean",
    default: false,
    help: "send raw tensor_content to TensorFlow Serving clients",
    details: "It replaces the typed fields.",
    commands: SERVE,
  },
  /**
   * Refuses gRPC requests of TensorFlow Serving's protocol that name no model, as TensorFlow Serving does; else they go
   * to the only model. Default false.
   */
  requireModelSpec: {
    slice: "protocols",
    type: "boolean",
    default: false,
    help: "refuse TensorFlow Serving requests that name no model",
    details: "Without this flag they go to the only model.",
    commands: SERVE,
  },
  /** Answers `POST /mcp`, by which assistants list and call models as tools. Default false. */
  mcp: {
    slice: "protocols",
    type: "boolean",
    default: false,
    help: "let assistants list and call models as tools, at /mcp",
    details: "By the Model Context Protocol ([mcp.md](mcp.md)); `kserving mcp` serves it over stdio.",
    commands: BOTH,
  },
  /**
   * Hosts from which images and sound are fetched that messages have as addresses: names, `*.example.com`, `*`, and IP
   * addresses or networks, without which private ones are refused; each with `:PORT`, or `:*` for any, unless that is
   * 80 or 443. Default: nothing is fetched.
   */
  fetchMedia: {
    slice: "protocols",
    type: "list",
    separator: ",",
    isSplit: true,
    placeholder: "HOSTS",
    help: "hosts of addresses in messages that are fetched",
    details:
      "For example `images.example.com,*.example.org:8080`; a host without a port is read at 80 and 443, with `:*` at any. Addresses of private networks have to be listed themselves ([security.md](security.md#addresses-in-messages)).",
    commands: SERVE,
  },
  /**
   * Refuses calls of TensorFlow Serving's protocol whose method is not that of the
   * signature's method name. Default false.
   */
  checkMethodNames: {
    slice: "protocols",
    type: "boolean",
    default: false,
    help: "refuse methods that a SavedModel's signature is not for",
    details: "Over TensorFlow Serving's protocol: the signature's method_name decides.",
    commands: SERVE,
  },
  /** Lets clients of KServe V2 register shared memory of this machine, in which their tensors are. Default false. */
  allowClientShm: {
    slice: "protocols",
    type: "boolean",
    default: false,
    help: "let KServe V2 clients keep tensors in shared memory of this machine",
    details: "On Linux. Who may run models can then read and write it ([kserve.md](kserve.md#shared-memory)).",
    commands: SERVE,
  },
  /** URL of the metrics that have TensorFlow Serving's names. Default `/monitoring/prometheus/metrics`. */
  tensorflowMetricsPath: {
    slice: "protocols",
    type: "text",
    form: { expected: "a path that begins with /", pattern: /^\/[\x21-\x7e]+$/ },
    placeholder: "PATH",
    /** TensorFlow Serving's. */
    default: "/monitoring/prometheus/metrics",
    help: "URL of the metrics that have TensorFlow Serving's names",
    details: "[metrics.md](metrics.md) has them.",
    commands: SERVE,
  },
  /**
   * Answers `/health` with a text, and `/v1/models/NAME` with further members, as Simple
   * TensorFlow Serving does. Default false.
   */
  simpleTensorflowServing: {
    slice: "protocols",
    type: "boolean",
    default: false,
    help: "answer /health and /v1/models/NAME as Simple TensorFlow Serving",
    details: "[simple-tensorflow-serving.md](simple-tensorflow-serving.md) has its calls, most of which need no flag.",
    commands: SERVE,
  },
  /** Answers `/` and `/v1/models` as KServe's V1 protocol has them. Default false. */
  kserveRoutes: {
    slice: "protocols",
    type: "boolean",
    default: false,
    help: "answer / and /v1/models as KServe's V1 protocol",
    details: "[kserve.md](kserve.md#v1) has the calls; predictions need no flag.",
    commands: SERVE,
  },
  /**
   * True to leave out the names in an output filter of TensorFlow Serving's protocol, and among the outputs of a KServe
   * V2 request, that are not outputs, as OpenVINO Model Server does; such names alone mean all outputs. Default false.
   */
  ignoreUnknownOutputs: {
    slice: "protocols",
    type: "boolean",
    default: false,
    help: "leave out names in output filters that are not outputs",
    details:
      "Over TensorFlow Serving's protocol and KServe V2, as OpenVINO Model Server does; a filter of such names alone means all.",
    commands: SERVE,
  },
  /**
   * Answers `/v1/models/NAME/metadata` with protobuf's own names of fields, as OpenVINO
   * Model Server does. Default false.
   */
  openvinoMetadata: {
    slice: "protocols",
    type: "boolean",
    default: false,
    help: "answer /v1/models/NAME/metadata as OpenVINO Model Server",
    details: "That is with protobuf's own names of fields (`modelSpec`), where TensorFlow Serving has `model_spec`.",
    commands: SERVE,
  },
} as const satisfies Record<string, Setting>;
