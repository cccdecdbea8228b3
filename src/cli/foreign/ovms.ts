import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import { invalidArgument, reasonText, ServingError } from "../../errors.ts";
import { printable } from "../../platform/text/terminal.ts";
import { Findings } from "../../serving/repository/config/findings.ts";
import type { ModelConfig } from "../../serving/repository/config/model-config.ts";
import { readOpenvinoModelServer } from "../../serving/repository/formats/openvino-model-server.ts";
import { parseYaml } from "../../tensor/codecs/config/yaml.ts";
import { readVersion } from "../../version.ts";
import type { FileSettings } from "../settings/read-file-settings.ts";
import { flagList } from "./foreign-flag.ts";
import type { ForeignCommandLine, ForeignProgram } from "./foreign-program.ts";
import { OVMS_FLAGS } from "./openvino-flags.ts";
import { createOvmsReporter, openvinoLog } from "./openvino-log.ts";
import { type ReadFlags, readForeignFlags } from "./read-foreign-flags.ts";
import { assertTaken, settingOf, type Translation, translateFlags } from "./translate-flags.ts";

type Values = ReadonlyMap<string, string>;

/** Exit code of `ovms` for a command line that makes no sense. */
const USAGE = 64;

/** Flags that describe the only model, in addition to its name and path. */
const OF_MODEL = ["batch_size", "shape", "nireq", "model_version_policy", "target_device", "plugin_config"];
const LOG_LEVELS = ["TRACE", "DEBUG", "INFO", "WARNING", "ERROR"];

/** Members that are objects, written as JSON on the command line. */
const JSON_MEMBERS = ["plugin_config", "model_version_policy"];

const MAX_PORT = 65535;

/** `kserving ovms`, also `ovms`. */
export const OVMS: ForeignProgram = { read, createReporter: createOvmsReporter, fail };

/** Settings as OpenVINO Model Server has them if nothing is said. */
export const OPENVINO_DEFAULTS: FileSettings = new Map([
  ["allowControl", settingOf("allowControl", "local", "ovms's default")],
  ["logFormat", settingOf("logFormat", "text", "ovms's default")],
  ["openvinoMetadata", settingOf("openvinoMetadata", "true", "ovms's default")],
  ["ignoreUnknownOutputs", settingOf("ignoreUnknownOutputs", "true", "ovms's default")],
]);

/** The policy of OpenVINO Model Server that its clients rely on. */
export const OPENVINO_NOTICE =
  "as OpenVINO Model Server: programs on this machine may send POST /v1/config/reload (KSERVING_ALLOW_CONTROL says otherwise)";

async function read(argv: readonly string[]): Promise<ForeignCommandLine | number> {
  const flags = readForeignFlags(argv, OVMS_FLAGS, { takesNextWord: true });
  const problem = problemOf(flags);
  if (problem !== undefined) {
    process.stderr.write(`error parsing options${problem}\n`);
    return USAGE;
  }
  const { values } = flags;
  if (values.get("version") === "true") return print(`OpenVINO Model Server: kserving ${readVersion()}\n`);
  if (values.get("help") === "true" || argv.length === 0)
    return print(`OpenVINO Model Server\nUsage:\n  ovms [OPTION...]\n\n${flagList(OVMS_FLAGS)}`);
  // First: the checks would ask for flags that these do without.
  assertTaken(values, OVMS_FLAGS);
  const host = checkOvmsFlags(values);
  const { settings, options, fields, warnings } = translateFlags(withConfigFile(values), OVMS_FLAGS);
  if (host !== undefined) settings.set("host", settingOf("host", host, "--grpc_bind_address"));
  const httpPort = settings.get("httpPort");
  // Without a gRPC flag, gRPC has no separate port.
  if (!settings.has("port") && httpPort !== undefined) settings.set("port", httpPort);
  const given = Object.entries(options).map(([key, text]) => `${key}=${text}`);
  if (given.length > 0) settings.set("option", { value: given, origin: "the command line" });
  const models = settings.has("config") ? [] : toOpenvinoModel(fields);
  return { settings, defaults: OPENVINO_DEFAULTS, models, keepsFiles: false, warnings, notice: OPENVINO_NOTICE };
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

/** In the words of the parser that it uses. */
function problemOf({ unknown, incomplete, misread }: ReadFlags): string | undefined {
  if (incomplete[0] !== undefined) return `: Option ‘${incomplete[0]}’ is missing an argument`;
  if (misread[0] !== undefined) return `: Argument ‘${misread[0].value}’ failed to parse`;
  return unknown.length === 0 ? undefined : ` - unmatched arguments: ${unknown.map((word) => `${word}, `).join("")}`;
}

/** The path of a folder means the config.json in it. */
function withConfigFile(values: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const path = values.get("config_path") ?? "";
  const isFolder = path !== "" && statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  return isFolder ? new Map([...values, ["config_path", join(path, "config.json")]]) : values;
}

function fail(reason: unknown): number {
  const text = printable(reasonText(reason));
  if (reason instanceof ServingError && reason.code === "invalid_argument") {
    process.stderr.write(`${text}\n`);
    return USAGE;
  }
  openvinoLog("error", text);
  return 1;
}

/** The one model of a command line of OpenVINO Model Server, read as its config.json is. Throws `invalid_argument`. */
export function toOpenvinoModel(fields: Translation["fields"]): readonly ModelConfig[] {
  const given = Object.entries(fields).filter(([, text]) => text !== "");
  const config = Object.fromEntries(given.map(([name, text]) => [name, memberOf(name, text)]));
  const findings = new Findings();
  const text = JSON.stringify({ model_config_list: [{ config }] });
  const tree = parseYaml(text, "the command line");
  if (tree === undefined) return [];
  const models = readOpenvinoModelServer(tree, { findings, folder: resolve() });
  findings.assertNone();
  const refused = models.find(({ refusal }) => refusal?.includes("model_version_policy"));
  if (refused !== undefined) throw invalidArgument(`${refused.refusal}.`);
  return models;
}

function memberOf(name: string, text: string): unknown {
  if (!JSON_MEMBERS.includes(name)) return text;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value;
  } catch {
    // Reported below, like a value of another type.
  }
  throw invalidArgument(`--${name} is ${text}; expected a JSON object.`);
}

/**
 * Checks which flags of `ovms` go together, in its words; gives the address to listen on, undefined if none is said.
 * Throws `invalid_argument`.
 */
function checkOvmsFlags(values: Values): string | undefined {
  checkModels(values);
  checkPorts(values);
  if (!LOG_LEVELS.includes(values.get("log_level") ?? "INFO"))
    throw invalidArgument(`log_level should be one of: ${LOG_LEVELS.join(", ")}`);
  for (const name of ["mean", "scale", "color_format", "precision"])
    if (has(values, name) && !has(values, "layout"))
      throw invalidArgument(`error parsing options - --${name} parameter requires --layout to be set`);
  return oneAddress(values);
}

function checkModels(values: Values): void {
  const [hasConfig, hasName, hasPath] = ["config_path", "model_name", "model_path"].map((name) => has(values, name));
  if (hasConfig && (hasName || hasPath)) throw invalidArgument("Use either config_path or model_path with model_name");
  if (!hasConfig && !(hasName && hasPath)) throw invalidArgument("Use config_path or model_path with model_name");
  if (hasConfig && OF_MODEL.some((name) => has(values, name)))
    throw invalidArgument("Model parameters in CLI are exclusive with the config file");
}

function checkPorts(values: Values): void {
  const [port, restPort] = [Number(values.get("port") ?? 0), Number(values.get("rest_port") ?? 0)];
  if (values.get("metrics_enable") === "true" && restPort === 0)
    throw invalidArgument("rest_port setting is missing, metrics are enabled on rest port");
  if (has(values, "metrics_list") && values.get("metrics_enable") !== "true")
    throw invalidArgument("metrics_enable setting is missing, required when metrics_list is provided");
  if (port === 0 && restPort === 0) throw invalidArgument("port and rest_port cannot both be unset");
  if (has(values, "rest_workers") && restPort === 0)
    throw invalidArgument("rest_workers is set but rest_port is not set. rest_port is required to start rest servers");
  if (port > MAX_PORT) throw invalidArgument(`port number out of range from 0 to ${MAX_PORT}`);
  if (restPort > MAX_PORT) throw invalidArgument(`rest_port number out of range from 0 to ${MAX_PORT}`);
  if (port === restPort) throw invalidArgument("port and rest_port cannot have the same values");
}

/** Both transports listen on one address here. */
function oneAddress(values: Values): string | undefined {
  const given = ["grpc_bind_address", "rest_bind_address"].flatMap((name) => values.get(name) || []);
  const [first, ...others] = new Set(given);
  if (others.length > 0 || first?.includes(","))
    throw invalidArgument(
      `gRPC and HTTP listen on one address here, not on ${given.join(" and ")}; expected the same one for both.`,
    );
  return first;
}

function has(values: Values, name: string): boolean {
  return (values.get(name) ?? "") !== "";
}
