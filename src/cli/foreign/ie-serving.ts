import { reasonText, ServingError } from "../../errors.ts";
import { printable } from "../../platform/text/terminal.ts";
import type { Environment } from "../settings/environment.ts";
import type { ForeignFlags } from "./foreign-flag.ts";
import { flagList } from "./foreign-flag.ts";
import type { ForeignCommandLine, ForeignProgram } from "./foreign-program.ts";
import { IE_SERVING_FLAGS, IE_SERVING_VARIABLES } from "./openvino-flags.ts";
import { createIeServingReporter, openvinoLog } from "./openvino-log.ts";
import { OPENVINO_DEFAULTS, OPENVINO_NOTICE, toOpenvinoModel } from "./ovms.ts";
import { type ReadFlags, readForeignFlags } from "./read-foreign-flags.ts";
import { settingOf, translateFlags } from "./translate-flags.ts";

/** Exit code of Python's argparse. */
const USAGE = 2;

/** `kserving ie_serving`, also `ie_serving`. */
export const IE_SERVING: ForeignProgram = { read, createReporter: createIeServingReporter, fail };

const REQUIRED = { model: ["model_name", "model_path"], config: ["config_path"] } as const;
const SUBCOMMANDS = "{config,model}";

async function read([first, ...rest]: readonly string[], env: Environment): Promise<ForeignCommandLine | number> {
  if (first === "-h" || first === "--help") return print(`${usageOf(SUBCOMMANDS)}\n${helpOfAll()}`);
  if (first !== "model" && first !== "config") {
    const problem =
      first === undefined ? "too few arguments" : `invalid choice: '${first}' (choose from 'config', 'model')`;
    return refuse(SUBCOMMANDS, `argument ${SUBCOMMANDS}: ${problem}`);
  }
  const table: ForeignFlags = IE_SERVING_FLAGS[first];
  const flags = readForeignFlags(rest, table, { takesNextWord: true, abbreviates: true });
  if (flags.values.get("help") === "true") return print(`${usageOf(first)}\n${flagList(table)}`);
  const missing = REQUIRED[first].filter((name) => !flags.values.has(name));
  const problem = problemOf(flags, missing);
  if (problem !== undefined) return refuse(first, problem);
  return toCommandLine(flags.values, table, env);
}

function toCommandLine(given: ReadonlyMap<string, string>, table: ForeignFlags, env: Environment): ForeignCommandLine {
  const known: ForeignFlags = { ...table, ...IE_SERVING_VARIABLES };
  const { settings, options, fields, warnings } = translateFlags(withVariables(given, known, env), known);
  const extra = Object.entries(options).map(([key, text]) => `${key}=${text}`);
  if (!isLogLevel(env.LOG_LEVEL ?? "")) settings.set("logLevel", settingOf("logLevel", "info", "LOG_LEVEL"));
  if (extra.length > 0) settings.set("option", { value: extra, origin: "the environment" });
  return {
    settings,
    defaults: new Map([...OPENVINO_DEFAULTS, ["port", settingOf("port", "9000", "ie_serving's default")]]),
    models: settings.has("config") ? [] : toOpenvinoModel(fields),
    keepsFiles: false,
    mayBeEmpty: true,
    warnings,
    notice: OPENVINO_NOTICE,
  };
}

/** Another word than these, or none, means INFO there. */
function isLogLevel(text: string): boolean {
  return /^(?:error|info|debug|)$/i.test(text);
}

/** Flags before variables; a variable that is empty counts as absent. */
function withVariables(given: ReadonlyMap<string, string>, known: ForeignFlags, env: Environment) {
  const values = new Map<string, string>();
  for (const [name, { env: variable = name }] of Object.entries(known)) {
    const text = given.get(name) ?? (name in IE_SERVING_VARIABLES || variable !== name ? env[variable] : undefined);
    if (text !== undefined && text !== "") values.set(name, text);
  }
  return values;
}

function usageOf(subcommand: string): string {
  return `usage: ie_serving ${subcommand} [-h] ...`;
}

function helpOfAll(): string {
  return Object.entries(IE_SERVING_FLAGS)
    .map(([name, flags]) => `ie_serving ${name}\n${flagList(flags)}`)
    .join("\n");
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

function refuse(subcommand: string, problem: string): number {
  const program = subcommand === SUBCOMMANDS ? "ie_serving" : `ie_serving ${subcommand}`;
  process.stderr.write(`${usageOf(subcommand)}\n${program}: error: ${problem}\n`);
  return USAGE;
}

/** In the words of Python's argparse. */
function problemOf({ unknown, incomplete, misread }: ReadFlags, missing: readonly string[]): string | undefined {
  if (incomplete[0] !== undefined) return `argument --${incomplete[0]}: expected one argument`;
  if (misread[0] !== undefined) return `argument --${misread[0].name}: invalid int value: '${misread[0].value}'`;
  if (missing.length > 0)
    return `the following arguments are required: ${missing.map((name) => `--${name}`).join(", ")}`;
  return unknown.length === 0 ? undefined : `unrecognized arguments: ${unknown.join(" ")}`;
}

function fail(reason: unknown): number {
  const isUsage = reason instanceof ServingError && reason.code === "invalid_argument";
  const text = printable(reasonText(reason));
  if (isUsage) process.stderr.write(`ie_serving: error: ${text}\n`);
  else openvinoLog("error", text);
  return isUsage ? USAGE : 1;
}
