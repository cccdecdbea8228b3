import { statSync } from "node:fs";
import type { Command } from "commander";
import { failedPrecondition, invalidArgument, ServingError } from "../../errors.ts";
import { createSilentLogger } from "../../observability/logger.ts";
import { maskOption, maskSecrets } from "../../platform/text/mask-secrets.ts";
import { printable, toColumns } from "../../platform/text/terminal.ts";
import { problemsOfNeeds } from "../../serving/check-needs.ts";
import { type ModelConfig, toNeedingModel } from "../../serving/repository/config/model-config.ts";
import { readConfigFile } from "../../serving/repository/config/read-config-file.ts";
import { policyText } from "../../serving/repository/config/versions.ts";
import { ConfigSources } from "../../serving/repository/config-sources.ts";
import { type InspectedModel, inspectModel, listModels } from "../../serving/repository/folders/list-models.ts";
import { ScanState } from "../../serving/repository/scan-state.ts";
import { trafficText } from "../../serving/traffic.ts";
import { configSchema } from "../settings/config-schema.ts";
import type { Environment } from "../settings/environment.ts";
import { toUsageError } from "../settings/parse-settings.ts";
import { FILE_SETTINGS, readFileSettings } from "../settings/read-file-settings.ts";
import { readServeSettings, type ServeCommandLine } from "../settings/read-serve-settings.ts";
import { flagOf, settingsOf, writtenValue } from "../settings/settings.ts";
import { createParser } from "./create-parser.ts";
import { toModelSources } from "./model-sources.ts";

const EPILOGUE = `
Examples:
  kserving config check serving.yaml
  kserving config check models.config batching.txt
  kserving config check /srv/models
  kserving config show --config serving.yaml --http-port 8080
  kserving config show --config serving.yaml --json
  kserving config schema > kserving.schema.json

Besides kserving's own files, these are read unchanged: TensorFlow Serving's model_config_file and
batching_parameters_file, OpenVINO Model Server's config.json, Simple TensorFlow Serving's model_config_file, and
folders of models, with or without Triton's config.pbtxt.
`;

/** `kserving config`: checks and explains configuration files. */
export async function config(argv: readonly string[], env: Environment): Promise<void> {
  if (argv.length === 0) throw invalidArgument("A command is missing; expected check PATH, show or schema.");
  // Its flags are those of a server, which this parser does not know.
  if (argv[0] === "show" && !argv.includes("--help")) return showConfig(argv.slice(1), env);
  try {
    await createConfigCommand().parseAsync(argv, { from: "user" });
  } catch (reason) {
    throw toUsageError(reason, "kserving config --help lists the commands");
  }
}

/** The parser of `kserving config`. */
export function createConfigCommand(): Command {
  const command = createParser("config", {
    description: "Checks and explains configuration files.",
    epilogue: EPILOGUE,
  });
  command
    .command("check <path...>")
    .description("list the models that would be served, settings without effect, and errors with their places")
    .option("--json", "print JSON")
    .action(check);
  command
    .command("show")
    .usage("[flags of kserving] [--json]")
    .description("print every setting with its origin, and the models")
    .option("--json", "print JSON");
  command
    .command("schema")
    .description("print the JSON Schema of our configuration file, for editors")
    .action(() => console.log(JSON.stringify(configSchema(), null, 2)));
  return command;
}

/** Checks every file, so that one run reports all errors. */
async function check(paths: readonly string[], { json = false }: { readonly json?: boolean }): Promise<void> {
  const read = await Promise.all(paths.map(readOne));
  // Stages may name models of another file.
  const described = read.flatMap((file) => ("models" in file ? file.models : []));
  const problems = problemsOfNeeds(described.map(toNeedingModel));
  const checked = await Promise.all(read.map((file) => checkOne(file, problems)));
  if (json) printJson(checked.map((file, index) => ({ path: paths[index], ...factsOf(file) })));
  else for (const file of checked) print(...linesOf(file));
  const failed = checked.find(
    (file) => file instanceof ServingError || file.inspected.some(({ problem }) => problem !== undefined),
  );
  if (failed instanceof ServingError) throw invalidArgument("Not every file can be read; the errors are listed above.");
  if (failed) throw failedPrecondition("Not every model can be served; the reasons are listed above.");
}

async function readOne(path: string): Promise<Checked | ServingError> {
  try {
    return isFolder(path) ? await readFolder(path) : await readFile(path);
  } catch (reason) {
    if (reason instanceof ServingError) return reason;
    throw reason;
  }
}

interface InspectedFile extends Checked {
  readonly inspected: readonly InspectedModel[];
}

async function checkOne(
  file: Checked | ServingError,
  problems: ReadonlyMap<string, string>,
): Promise<InspectedFile | ServingError> {
  if (file instanceof ServingError) return file;
  return { ...file, inspected: await Promise.all(file.models.map((model) => inspect(model, problems))) };
}

function linesOf(file: InspectedFile | ServingError): readonly string[] {
  if (file instanceof ServingError) return errorsOf(file).map((text) => `error: ${text}`);
  const { title, inspected, options, settings } = file;
  return [
    title,
    ...toConfigTable(inspected),
    ...(options === undefined ? [] : [`Options of all TensorFlow models: ${optionsText(options)}`]),
    ...(settings.length === 0 ? [] : [`Settings: ${settings.join(", ")}`]),
    ...warningsOf(file).map((text) => `warning: ${text}`),
  ];
}

function factsOf(file: InspectedFile | ServingError): object {
  if (file instanceof ServingError) return { errors: errorsOf(file) };
  const { format, inspected, options, settings } = file;
  const models = inspected.map(modelFacts);
  return { format, models, ...(options && { options: masked(options) }), settings, warnings: warningsOf(file) };
}

function errorsOf(error: ServingError): readonly string[] {
  return error.message.split("\n");
}

/** Of the file, then of its models. */
function warningsOf({ warnings, inspected }: InspectedFile): readonly string[] {
  return [...warnings, ...inspected.flatMap((model) => model.warnings)];
}

async function inspect(config: ModelConfig, problems: ReadonlyMap<string, string>): Promise<InspectedModel> {
  const problem = problems.get(config.name);
  return { ...(problem !== undefined && { problem }), ...(await inspectModel(config)) };
}

/** A configuration as it was read. */
interface Checked {
  readonly title: string;
  readonly format: string;
  readonly models: readonly ModelConfig[];
  /** Of all TensorFlow models. */
  readonly options?: Readonly<Record<string, string>>;
  /** Names of the settings of a server that it has. */
  readonly settings: readonly string[];
  readonly warnings: readonly string[];
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

async function readFolder(path: string): Promise<Checked> {
  const format = "a folder of models";
  return { title: `${path} is ${format}.`, format, settings: [], ...(await listModels(path)) };
}

async function readFile(path: string): Promise<Checked> {
  const { batching, ...file } = await readConfigFile(path, [...FILE_SETTINGS.keys()]);
  readFileSettings(file.settings);
  const settings = file.settings.map(({ key }) => key);
  return { ...file, title: `${path} is ${file.format}.`, ...(batching && { options: batching }), settings };
}

function print(...lines: readonly string[]): void {
  console.log(printable(maskSecrets(lines.join("\n"))));
}

function printJson(value: object): void {
  const mask = (_: string, member: unknown) => (typeof member === "string" ? maskSecrets(member) : member);
  console.log(JSON.stringify(value, mask, 2));
}

/** Lines that show the models that would be served, as a table, and the reasons of those that would not. */
function toConfigTable(models: readonly InspectedModel[]): string[] {
  if (models.length === 0) return [];
  const refused = models.flatMap(({ config, problem }) =>
    problem === undefined ? [] : [`not served: ${config.name}: ${problem}`],
  );
  return [...toColumns([["Model", "Driver", "Path", "Versions", "Options"], ...models.map(toCells)]), ...refused];
}

function toCells({ config, driver, chosen, available }: InspectedModel): string[] {
  const { name, path, stages = [], labels, options, traffic } = config;
  const paths = stages.map(({ model, path: own = "-" }) => (model === undefined ? own : `model ${model}`)).join(" → ");
  const others = available.length - chosen.length;
  const of = others === 0 ? "" : ` (${policyText(config.versions)} of ${available.length})`;
  const labelled = [...labels].map(([label, version]) => `${label} = ${version}`);
  return [
    name,
    driver,
    path ?? (paths || "-"),
    [`${chosen.join(", ") || "none"}${of}`, ...labelled, ...(traffic ? [trafficText(traffic)] : [])].join("; "),
    optionsText(options) || "-",
  ];
}

/** Facts of a model for programs. Versions are texts, since numbers of JSON do not hold all of them. */
function modelFacts({ config, driver, chosen, available, problem }: InspectedModel): object {
  const { name, path, stages = [], labels, options, traffic } = config;
  return {
    ...{ name, driver, path, versions: chosen.map(String), available: available.map(String) },
    ...(stages.length > 0 && { stages: stages.map((stage) => ({ model: stage.model, path: stage.path })) }),
    labels: Object.fromEntries(Array.from(labels, ([label, version]) => [label, String(version)])),
    options: masked(options),
    ...(traffic && { traffic: trafficText(traffic) }),
    problem,
  };
}

/** Options with their secrets masked. */
function masked(options: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(options).map(([key, value]) => [key, maskOption(key, value)]));
}

/** `-o` options as they stand on the command line, without the flag; secrets are masked. */
function optionsText(options: Readonly<Record<string, string>>): string {
  return Object.entries(masked(options))
    .map(([key, value]) => `${key}=${value}`)
    .join(" ");
}

/**
 * Prints the configuration that these flags of `kserving serve` would have: every setting with its value and origin,
 * and the named models; secrets are masked.
 */
async function showConfig(argv: readonly string[], env: Environment): Promise<void> {
  const commandLine = await readServeSettings(
    argv.filter((word) => word !== "--json"),
    env,
  );
  const settings = settingFacts(commandLine);
  const sources = toModelSources(commandLine);
  const configs = await (sources && new ConfigSources(sources).read(new ScanState(createSilentLogger(), 0)));
  const models = configs && (await Promise.all(configs.map(inspectModel)));
  if (argv.includes("--json")) return printJson({ settings, ...(models && { models: models.map(modelFacts) }) });
  const rows = settings.map(({ setting, value, origin }) => [setting, maskSecrets(valueText(value)), origin]);
  const table = toColumns([["Setting", "Value", "Origin"], ...rows]);
  print(...table, ...(models === undefined ? [] : ["", ...toConfigTable(models)]));
}

/** A setting as it would count. */
interface SettingFact {
  readonly setting: string;
  /** Null = none. */
  readonly value: unknown;
  readonly origin: string;
}

function settingFacts({ settings, origins }: ServeCommandLine): SettingFact[] {
  const values: Readonly<Record<string, unknown>> = settings;
  const shownValue = (name: string, setting: Parameters<typeof writtenValue>[0]) =>
    name === "option" ? settings.option.map(maskedOption) : writtenValue(setting, values[name]);
  return settingsOf("serve").map(([name, setting]) => ({
    setting: flagOf(name).slice(2),
    value: values[name] === undefined ? null : shownValue(name, setting),
    origin: origins.get(name) ?? "default",
  }));
}

function maskedOption(option: string): string {
  const [key = "", ...value] = option.split("=");
  return `${key}=${maskOption(key.replace(/^\d+:/, ""), value.join("="))}`;
}

function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.join(", ") || "-";
  return value === null ? "-" : String(value);
}
