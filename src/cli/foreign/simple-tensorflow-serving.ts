import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { invalidArgument, reasonText, ServingError } from "../../errors.ts";
import { printable } from "../../platform/text/terminal.ts";
import { Findings } from "../../serving/repository/config/findings.ts";
import type { ModelConfig } from "../../serving/repository/config/model-config.ts";
import { readSimpleTensorflowServing } from "../../serving/repository/formats/simple-tensorflow-serving.ts";
import { parseYaml } from "../../tensor/codecs/config/yaml.ts";
import type { Environment } from "../settings/environment.ts";
import type { FileSettings } from "../settings/read-file-settings.ts";
import type { ForeignFlags } from "./foreign-flag.ts";
import { flagList } from "./foreign-flag.ts";
import type { ForeignCommandLine, ForeignProgram } from "./foreign-program.ts";
import { type ReadFlags, readForeignFlags } from "./read-foreign-flags.ts";
import { isTrue, SIMPLE_TENSORFLOW_FLAGS } from "./simple-tensorflow-serving-flags.ts";
import { settingOf, type Translation, translateFlags } from "./translate-flags.ts";

const FLAGS: ForeignFlags = SIMPLE_TENSORFLOW_FLAGS;
const USAGE_TEXT = "usage: simple_tensorflow_serving [-h] [--model_base_path MODEL_BASE_PATH] ...";
/** Exit code of Python's argparse. */
const USAGE = 2;
const PORT = "8500";

/** `kserving simple-tensorflow-serving`, also `simple_tensorflow_serving` and `stfs`. */
export const SIMPLE_TENSORFLOW_SERVING: ForeignProgram = {
  read,
  createReporter: () => ({ ready: ({ httpUrl }) => tellAddress(httpUrl) }),
  fail,
};

/** Prints the line that scripts wait for. */
function tellAddress(httpUrl = ""): void {
  process.stderr.write(` * Running on ${httpUrl}/ (Press CTRL+C to quit)\n`);
}

async function read(argv: readonly string[], env: Environment): Promise<ForeignCommandLine | number> {
  if (argv.some((word) => word === "-h" || word === "--help")) {
    process.stdout.write(`${USAGE_TEXT}\n\n${flagList(FLAGS)}`);
    return 0;
  }
  const flags = readForeignFlags(argv, FLAGS, { takesNextWord: true, abbreviates: true });
  const problem = problemOf(flags);
  if (problem !== undefined) {
    process.stderr.write(`${USAGE_TEXT}\nsimple_tensorflow_serving: error: ${problem}\n`);
    return USAGE;
  }
  return toCommandLine(withVariables(flags.values, env));
}

/** In the words of Python's argparse. */
function problemOf({ unknown, incomplete, misread }: ReadFlags): string | undefined {
  if (incomplete[0] !== undefined) return `argument --${incomplete[0]}: expected one argument`;
  if (misread[0] !== undefined) return `argument --${misread[0].name}: invalid int value: '${misread[0].value}'`;
  return unknown.length === 0 ? undefined : `unrecognized arguments: ${unknown.join(" ")}`;
}

/** Flags before variables; a variable that is empty counts as absent. */
function withVariables(given: ReadonlyMap<string, string>, env: Environment): ReadonlyMap<string, string> {
  const variables = Object.entries(FLAGS).flatMap(([name, flag]) => {
    const text = env[flag.env ?? ""] ?? "";
    return text === "" ? [] : [[name, text] as const];
  });
  return new Map([...variables, ...given]);
}

function toCommandLine(values: ReadonlyMap<string, string>): ForeignCommandLine {
  const { settings, fields, warnings } = translateFlags(withPlainWords(values), FLAGS);
  const { password, warning } = readUser(values, settings);
  readTls(values, settings);
  if (isTrue(values.get("debug"))) settings.set("logLevel", settingOf("logLevel", "debug", "--debug"));
  const isOne = !settings.has("config");
  return {
    settings,
    defaults: defaultsFor(values.get("port") ?? PORT, isOne),
    models: isOne ? toModel(fields) : [],
    keepsFiles: true,
    ...(password !== undefined && { password }),
    warnings: [...warnings, ...warning],
    notice: `as Simple TensorFlow Serving: ${isTrue(values.get("enable_cors") ?? "True") ? "web pages of all origins may run models (--enable_cors=False says otherwise), and " : ""}gRPC has the port of HTTP (KSERVING_PORT says otherwise)`,
  };
}

/** Words of switches as the table has their defaults, so that `false` is `False`. */
function withPlainWords(values: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const entries = [...values].map(([name, text]) => {
    const { default: word = "" } = FLAGS[name] ?? {};
    const isSwitch = word === "True" || word === "False";
    return [name, isSwitch && isTrue(text) === isTrue(word) ? word : text] as const;
  });
  return new Map(entries);
}

/** Settings as the original has them if nothing is said. */
function defaultsFor(port: string, isOne: boolean): FileSettings {
  const defaults = [
    ["port", port],
    ["httpPort", PORT],
    ["corsOrigins", "*"],
    ["pollIntervalMs", "0"],
    ["simpleTensorflowServing", "true"],
    ["failFast", String(isOne)],
    ["logFormat", "text"],
  ] as const;
  return new Map(defaults.map(([name, text]) => [name, settingOf(name, text, "simple_tensorflow_serving's default")]));
}

interface SingleUser {
  readonly password?: string;
  readonly warning: readonly string[];
}

/** The single user, without the default password that everybody knows. */
function readUser(values: ReadonlyMap<string, string>, settings: Translation["settings"]): SingleUser {
  if (!isTrue(values.get("enable_auth"))) return { warning: [] };
  const { auth_username: username = "admin", auth_password: password = "" } = Object.fromEntries(values);
  if (password === "") {
    throw invalidArgument(
      "--enable_auth needs a password: the original's default one is not taken over, since everybody knows it. Give STFS_AUTH_PASSWORD or --auth_password.",
    );
  }
  settings.set("authUsername", settingOf("authUsername", username, "--auth_username"));
  const isKnown = username === "admin" && password === "admin";
  const warning = "The user and the password are admin, which everybody tries first; choose another password.";
  return { password, warning: isKnown ? [warning] : [] };
}

function readTls(values: ReadonlyMap<string, string>, settings: Translation["settings"]): void {
  if (!isTrue(values.get("enable_ssl"))) return;
  const { secret_pem: cert = "secret.pem", secret_key: key = "secret.key" } = Object.fromEntries(values);
  settings.set("tlsCert", settingOf("tlsCert", cert, "--secret_pem"));
  settings.set("tlsKey", settingOf("tlsKey", key, "--secret_key"));
}

/** The one model of the command line, read as the model_config_file is. */
function toModel(fields: Translation["fields"]): readonly ModelConfig[] {
  const { base_path: path = "./model", session_config: session = "{}" } = fields;
  // MXNet's models are named by what their files' names begin with.
  const isThere = existsSync(path) || existsSync(`${path}-symbol.json`);
  if (/^\.?\//.test(path) && !isThere) throw invalidArgument(`Local model path does not exist: ${path}`);
  const config = { name: "default", ...fields, base_path: path, session_config: parseSession(session) };
  const tree = parseYaml(JSON.stringify({ model_config_list: [config] }), "the command line");
  if (tree === undefined) return [];
  const findings = new Findings();
  const models = readSimpleTensorflowServing(tree, { findings, folder: resolve() });
  findings.assertNone();
  const refused = models.find(({ refusal }) => refusal !== undefined);
  if (refused !== undefined) throw invalidArgument(`The model ${refused.refusal}.`);
  return models;
}

function parseSession(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value;
  } catch {
    // Reported below, like a value of another type.
  }
  throw invalidArgument(`--session_config is ${text}; expected a JSON object.`);
}

function fail(reason: unknown): number {
  const isUsage = reason instanceof ServingError && reason.code === "invalid_argument";
  process.stderr.write(`simple_tensorflow_serving: error: ${withVariable(printable(reasonText(reason)))}\n`);
  return isUsage ? USAGE : 1;
}

/** Names an option of a driver as this program takes it, which has no flag for one. */
function withVariable(message: string): string {
  return message.replace(/-o (?=\w+=)/g, "KSERVING_OPTION=");
}
