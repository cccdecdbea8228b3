import { readFile } from "node:fs/promises";
import type { RawOptions } from "../../drivers/option-table.ts";
import { failedPrecondition, invalidArgument } from "../../errors.ts";
import { readProblem } from "../../platform/text/file-problem.ts";
import { readConfigText } from "../../serving/repository/config/config-source.ts";
import type { FieldTable } from "../../serving/repository/config/field-table.ts";
import { Findings } from "../../serving/repository/config/findings.ts";
import { readConfigFile } from "../../serving/repository/config/read-config-file.ts";
import { readFields } from "../../serving/repository/config/read-fields.ts";
import { batchingOptions } from "../../serving/repository/formats/tensorflow-serving.ts";
import { placeText } from "../../tensor/codecs/config/config-node.ts";
import { parseTextFormat } from "../../tensor/codecs/config/parse-text-format.ts";
import type { SettingName } from "../settings/settings.ts";
import { TENSORFLOW_FLAGS } from "./tensorflow-flags.ts";
import { settingOf, type Translation } from "./translate-flags.ts";

type Values = ReadonlyMap<string, string>;

/**
 * Throws `invalid_argument`, in the original's words, for flags of `tensorflow_model_server` that do not go together.
 */
export function checkTensorflowFlags(values: Values): void {
  if (Number(values.get("port") ?? 1) === 0 && !has(values, "grpc_socket_path"))
    throw invalidArgument("At least one of server_options.grpc_port or server_options.grpc_socket_path must be set.");
  if (!has(values, "model_base_path") && !has(values, "model_config_file"))
    throw invalidArgument("Both server_options.model_base_path and server_options.model_config_file are empty!");
  if (has(values, "batching_parameters_file") && values.get("enable_batching") !== "true")
    throw invalidArgument(
      "server_options.batching_parameters_file is set without setting server_options.enable_batching to true.",
    );
  const threads = ["intra_op", "inter_op", "session"].map((kind) => threadsOf(values, kind));
  if (threads.every((count) => count > 0))
    throw invalidArgument(
      "Either configure server_options.tensorflow_session_parallelism or (server_options.tensorflow_intra_op_parallelism, server_options.tensorflow_inter_op_parallelism) separately. You cannot configure all.",
    );
}

/** Options that files say, and what these files say that changes nothing here. */
interface FileOptions {
  readonly options: RawOptions;
  readonly warnings: readonly string[];
}

/** The `-o` options of flags that name a file, or stand for several options. */
export async function readTensorflowOptions(values: Values): Promise<FileOptions> {
  const sessionConfig = values.get("tensorflow_session_config_file") ?? "";
  const batching = await readBatching(values);
  const options = {
    ...parallelism(values),
    ...batching.options,
    ...(sessionConfig !== "" && { session_config: await readText(sessionConfig) }),
  };
  return { options, warnings: batching.warnings };
}

/** It counts if neither of the other two does. */
function parallelism(values: Values): RawOptions {
  const threads = threadsOf(values, "session");
  if (threads <= 0 || threadsOf(values, "intra_op") > 0 || threadsOf(values, "inter_op") > 0) return {};
  return { intra_op_threads: String(threads), inter_op_threads: String(threads) };
}

async function readBatching(values: Values): Promise<FileOptions> {
  if (values.get("enable_batching") !== "true") return { options: {}, warnings: [] };
  const isPerVersion = values.get("enable_per_model_batching_parameters") === "true";
  const path = values.get("batching_parameters_file") ?? "";
  if (path === "") return { options: isPerVersion ? {} : batchingOptions({}), warnings: [] };
  const { batching: options, format, warnings } = await readConfigFile(path, []);
  if (options !== undefined) return { options: isPerVersion ? {} : options, warnings };
  throw invalidArgument(
    `${path} is ${format}; expected a batching_parameters_file, such as max_batch_size { value: 32 }.`,
  );
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (reason) {
    throw failedPrecondition(`${path} ${readProblem(reason)}; expected a ConfigProto in text form.`, reason);
  }
}

function threadsOf(values: Values, kind: string): number {
  return Number(values.get(`tensorflow_${kind}_parallelism`) ?? 0);
}

function has(values: Values, name: string): boolean {
  return (values.get(name) ?? "") !== "";
}

/**
 * The settings that several flags say together, or files that flags name. Throws `invalid_argument` with the place of a
 * fault, `failed_precondition` for a file that cannot be read.
 */
export async function jointSettings(values: Values): Promise<Translation["settings"]> {
  const settings: Translation["settings"] = new Map();
  const set: SetSetting = (name, text, origin) => settings.set(name, settingOf(name, text, origin));
  setModelSettings(values, set);
  await setPorts(values, set);
  return settings;
}

type SetSetting = (name: SettingName, text: string, origin: string) => void;

function setModelSettings(values: Values, set: SetSetting): void {
  const runs = Number(values.get("num_request_iterations_for_warmup") ?? 0);
  if (values.get("enable_model_warmup") === "false") set("savedModelWarmup", "0", "--enable_model_warmup");
  else if (runs > 0) set("savedModelWarmup", String(runs), "--num_request_iterations_for_warmup");
  const perVersion = "enable_per_model_batching_parameters";
  if (values.get("enable_batching") === "true" && values.get(perVersion) === "true")
    set("versionBatching", "true", `--${perVersion}`);
}

async function setPorts(values: Values, set: SetSetting): Promise<void> {
  const port = Number(values.get("port") ?? TENSORFLOW_FLAGS.port.default);
  if (port === 0) set("grpcSocketOnly", "true", "--port");
  const metricsPath = await monitoringPath(values.get("monitoring_config_file") ?? "");
  if (metricsPath !== undefined) set("tensorflowMetricsPath", metricsPath, "--monitoring_config_file");
  const file = values.get("ssl_config_file") ?? "";
  if (file === "") return;
  const origin = "--ssl_config_file";
  if (port !== 0 && port === Number(values.get("rest_api_port") ?? 0))
    throw invalidArgument(`${origin} encrypts gRPC alone; expected another --rest_api_port than --port=${port}.`);
  const { cert, key, clientCa } = await readSslConfig(file);
  set("tlsCert", cert, origin);
  set("tlsKey", key, origin);
  if (clientCa !== undefined) set("tlsClientCa", clientCa, origin);
  set("tlsScope", "grpc", origin);
}

/** https://github.com/tensorflow/serving/blob/master/tensorflow_serving/config/ssl_config.proto */
const SSL_FIELDS = {
  server_key: { type: "text", required: true },
  server_cert: { type: "text", required: true },
  custom_ca: { type: "text" },
  client_verify: { type: "boolean" },
} as const satisfies FieldTable;

/** PEM texts of an `ssl_config_file`. */
interface SslConfig {
  readonly cert: string;
  readonly key: string;
  /** Given if clients need a certificate. */
  readonly clientCa?: string;
}

async function readSslConfig(file: string): Promise<SslConfig> {
  const findings = new Findings();
  const node = parseTextFormat(await readConfigText(file), file);
  const fields = readFields(node, SSL_FIELDS, { findings, whose: "The ssl_config_file" });
  findings.assertNone();
  const { server_key: key = "", server_cert: cert = "", custom_ca: ca = "", client_verify = false } = fields ?? {};
  const texts = { server_key: key, server_cert: cert, ...(client_verify && { custom_ca: ca }) };
  for (const [name, text] of Object.entries(texts)) {
    if (!text.includes("-----BEGIN "))
      throw invalidArgument(
        `${placeText(node.place)}: "${name}" is not a text in PEM form; expected the content of a PEM file, which begins with -----BEGIN.`,
      );
  }
  return { cert, key, ...(client_verify && { clientCa: ca }) };
}

/** https://github.com/tensorflow/serving/blob/master/tensorflow_serving/config/monitoring_config.proto */
const MONITORING_FIELDS = {
  prometheus_config: { type: "group", fields: { enable: { type: "boolean" }, path: { type: "text" } } },
} as const satisfies FieldTable;

/** The path of the metrics that a `monitoring_config_file` switches on; undefined if it has none. */
async function monitoringPath(file: string): Promise<string | undefined> {
  if (file === "") return undefined;
  const findings = new Findings();
  const node = parseTextFormat(await readConfigText(file), file);
  const fields = readFields(node, MONITORING_FIELDS, { findings, whose: "The monitoring_config_file" });
  findings.assertNone();
  const { enable = false, path = "" } = fields?.prometheus_config ?? {};
  return enable && path !== "" ? path : undefined;
}
