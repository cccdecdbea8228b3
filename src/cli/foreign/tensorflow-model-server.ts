import { join } from "node:path";
import { invalidArgument, reasonText, ServingError } from "../../errors.ts";
import { printable } from "../../platform/text/terminal.ts";
import type { ServedVersion } from "../../server/served-version.ts";
import { notAvailableText } from "../../serving/not-available-text.ts";
import { type ModelConfig, modelConfig } from "../../serving/repository/config/model-config.ts";
import { basePathRefusal } from "../../serving/repository/formats/tensorflow-serving.ts";
import { filePath } from "../../storage/remote-address.ts";
import { readVersion } from "../../version.ts";
import type { Environment } from "../settings/environment.ts";
import type { Settings } from "../settings/settings.ts";
import type { ForeignFlag } from "./foreign-flag.ts";
import type { FailedStart, ForeignCommandLine, ForeignProgram } from "./foreign-program.ts";
import { readForeignFlags } from "./read-foreign-flags.ts";
import { TENSORFLOW_FLAGS } from "./tensorflow-flags.ts";
import { checkTensorflowFlags, jointSettings, readTensorflowOptions } from "./tensorflow-options.ts";
import { createTensorflowReporter, waitForVersions } from "./tensorflow-reporter.ts";
import { settingOf, type Translation, translateFlags } from "./translate-flags.ts";

/** Exit code of `tensorflow_model_server` for whatever goes wrong: -1, as a shell sees it. */
const TENSORFLOW_FAILURE = 255;

/** `kserving tensorflow-model-server`, also `tensorflow_model_server`. */
export const TENSORFLOW_MODEL_SERVER: ForeignProgram = {
  read,
  waitForModels,
  createReporter: createTensorflowReporter,
  fail: failTensorflow,
};

/** As there, a file with a model that cannot be served ends the start before anything is waited for. */
async function waitForModels(models: readonly ModelConfig[], settings: Settings<"serve">): Promise<void> {
  const refused = models.find(({ refusal }) => refusal !== undefined);
  if (refused !== undefined) throw invalidArgument(refused.refusal as string);
  await waitForVersions(models, settings);
}

/**
 * As the original's main(): a value of the wrong type ends it, help and version end
 * it, an unknown word is printed and passed over.
 */
async function read(argv: readonly string[], env: Environment): Promise<ForeignCommandLine | number> {
  const { values, unknown, misread } = readForeignFlags(argv, TENSORFLOW_FLAGS, { takesNextWord: false });
  for (const { name, value } of misread) process.stderr.write(`Couldn't interpret value ${value} for flag ${name}.\n`);
  if (misread.length > 0 || values.get("help") === "true") {
    process.stdout.write(tensorflowUsage());
    return misread.length > 0 ? TENSORFLOW_FAILURE : 0;
  }
  if (values.get("version") === "true") {
    process.stdout.write(
      `TensorFlow ModelServer: kserving ${readVersion()}\nTensorFlow Library: see kserving runtimes\n`,
    );
    return 0;
  }
  if (unknown.length > 0) process.stdout.write(`unknown argument: ${unknown[0]}\n${tensorflowUsage()}`);
  return toCommandLine(withEnvironment(values, env), unknown);
}

/**
 * The convention of the original's container: without a path, that of the model which
 * the environment names, and HTTP at 8501.
 */
function withEnvironment(values: ReadonlyMap<string, string>, env: Environment): ReadonlyMap<string, string> {
  const { MODEL_NAME: name = "model", MODEL_BASE_PATH: base = "/models" } = env;
  const isDescribed = values.has("model_base_path") || values.has("model_config_file");
  if (isDescribed || (env.MODEL_NAME === undefined && env.MODEL_BASE_PATH === undefined)) return values;
  const own = [
    ["model_name", name],
    ["model_base_path", join(base, name)],
    ["rest_api_port", "8501"],
  ] as const;
  return new Map([...own, ...values]);
}

async function toCommandLine(
  values: ReadonlyMap<string, string>,
  unknown: readonly string[],
): Promise<ForeignCommandLine> {
  checkTensorflowFlags(values);
  const { settings, options, fields, warnings } = translateFlags(values, TENSORFLOW_FLAGS);
  const ofFiles = await readTensorflowOptions(values);
  Object.assign(options, ofFiles.options);
  if (Object.keys(options).length > 0) {
    const value = Object.entries(options).map(([key, text]) => `${key}=${text}`);
    settings.set("option", { value, origin: "the command line" });
  }
  for (const [name, setting] of await jointSettings(values)) settings.set(name, setting);
  return {
    settings,
    defaults: DEFAULTS,
    models: settings.has("config") ? [] : [toModel(fields)],
    keepsFiles: Number(values.get("model_config_file_poll_wait_seconds") ?? 0) <= 0,
    warnings: [...warnings, ...ofFiles.warnings, ...unknown.flatMap(missingEquals)],
    notice:
      "as tensorflow_model_server: programs on this machine may send HandleReloadConfigRequest (KSERVING_ALLOW_CONTROL says otherwise), and a request without a model_spec is refused",
  };
}

const DEFAULTS: ForeignCommandLine["defaults"] = new Map(
  (
    [
      ["port", "8500"],
      ["grpcSocketTakeover", "true"],
      ["allowControl", "local"],
      ["requireModelSpec", "true"],
      ["failFast", "true"],
      ["logFormat", "text"],
    ] as const
  ).map(([name, text]) => [name, settingOf(name, text, "tensorflow_model_server's default")]),
);

function toModel({ name = "default", path = "" }: Translation["fields"]): ModelConfig {
  const refusal = basePathRefusal(name, path);
  if (refusal !== undefined) throw invalidArgument(refusal);
  return modelConfig({ name, path: filePath(path) });
}

/** There, a flag and its value are one word. */
function missingEquals(word: string): string[] {
  const name = word.replace(/^--/, "");
  return name !== word && Object.hasOwn(TENSORFLOW_FLAGS, name)
    ? [`${word} takes its value behind "=": ${word}=VALUE`]
    : [];
}

const TYPES = { integer: "int32", number: "float", boolean: "bool", text: "string" } as const;
const FLAG_WIDTH = 33;

/** Help of `tensorflow_model_server`, in the form that the original has. */
function tensorflowUsage(): string {
  const lines = Object.entries<ForeignFlag>(TENSORFLOW_FLAGS).map(([name, { type, default: value = "", help }]) => {
    const flag = `--${name}=${type === "text" ? `"${value}"` : value}`;
    return `\t${flag.padEnd(FLAG_WIDTH)}\t${TYPES[type]}\t${help}\n`;
  });
  return `usage: tensorflow_model_server\nFlags:\n${lines.join("")}`;
}

/**
 * Prints why a start failed as `tensorflow_model_server` does: to standard output, a
 * faulty file's place to standard error.
 */
export function failTensorflow(reason: unknown, { commandLine, failed }: FailedStart): number {
  const code = reason instanceof ServingError ? reason.code.toUpperCase() : "UNKNOWN";
  const text = printable(reasonText(reason));
  const faulty = faultyFile(text, commandLine);
  if (faulty === undefined) {
    const problem = failed.length > 0 ? notAvailable(failed) : `${code}: ${text}`;
    process.stdout.write(`Failed to start server. Error: ${problem}\n`);
    return TENSORFLOW_FAILURE;
  }
  const { file, problem } = faulty;
  const [, twice] = /^\d+:\d+: (Illegal to list model .* multiple times in config list)/.exec(problem) ?? [];
  if (twice === undefined)
    process.stderr.write(`Error parsing text-format tensorflow.serving.ModelServerConfig: ${problem}\n`);
  const message = twice ?? `Invalid protobuf file: '${file}'`;
  process.stdout.write(`Failed to start server. Error: INVALID_ARGUMENT: ${message}\n`);
  return TENSORFLOW_FAILURE;
}

function notAvailable(failed: readonly ServedVersion[]): string {
  const versions = failed.map(({ name, version, error }) => {
    return { model: name, version, error: error && { code: error.code, message: printable(error.message) } };
  });
  return `UNKNOWN: ${notAvailableText("servable", versions)}`;
}

interface FaultyFile {
  readonly file: string;
  /** The place in it and the fault. */
  readonly problem: string;
}

function faultyFile(text: string, commandLine: ForeignCommandLine | undefined): FaultyFile | undefined {
  const files = commandLine?.settings.get("config")?.value as readonly string[] | undefined;
  const file = files?.find((path) => text.startsWith(`${path}:`));
  return file === undefined ? undefined : { file, problem: text.slice(file.length + 1) };
}
