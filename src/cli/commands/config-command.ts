import { statSync } from "node:fs";
import { access } from "node:fs/promises";
import type { Command } from "commander";
import { failedPrecondition, invalidArgument, ServingError } from "../../errors.ts";
import { createSilentLogger } from "../../observability/logger.ts";
import { readProblem } from "../../platform/text/file-problem.ts";
import { maskOption, maskSecrets } from "../../platform/text/mask-secrets.ts";
import { printable, toColumns } from "../../platform/text/terminal.ts";
import { problemsOfNeeds } from "../../serving/check-needs.ts";
import { type ModelConfig, toNeedingModel } from "../../serving/repository/config/model-config.ts";
import { readConfigFile } from "../../serving/repository/config/read-config-file.ts";
import { policyText } from "../../serving/repository/config/versions.ts";
import { ConfigSources } from "../../serving/repository/config-sources.ts";
import { type InspectedModel, inspectModel, listModels } from "../../serving/repository/folders/list-models.ts";
import { ScanState } from "../../serving/repository/scan-state.ts";
import { warmUpFiles } from "../../serving/repository/warm-up/warm-up-entry.ts";
import { trafficText } from "../../serving/traffic.ts";
import { isRemoteAddress } from "../../storage/remote-address.ts";
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
  kserving config schema > kserving.schema.json

Besides kserving's own files, these are read unchanged: TensorFlow Serving's model_config_file and
batching_parameters_file, OpenVINO Model Server's config.json, Simple TensorFlow Serving's model_config_file, and
folders of models, with or without Triton's config.pbtxt.
`;

/** `kserving config`: checks and explains configuration files. */
export async function config(argv: readonly string[], env: Environment): Promise<void> {
  if (argv.length === 0) throw invalidArgument("A command is missing; expected check PATH, show or schema.");
  // Its flags are those of a server, which this parser does not know.
  if (argv[0] === "show" && !argv.includes("--help")) return print(...(await showConfig(argv.slice(1), env)));
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
    .action(check);
  command
    .command("show")
    .usage("[flags of kserving]")
    .description("print every setting with its origin, and the models");
  command
    .command("schema")
    .description("print the JSON Schema of our configuration file, for editors")
    .action(() => console.log(JSON.stringify(configSchema(), null, 2)));
  return command;
}

/** Checks every file, so that one run reports all errors. */
async function check(files: readonly string[]): Promise<void> {
  const read = await Promise.all(files.map(readOne));
  // Stages may name models of another file.
  const described = read.flatMap((file) => ("models" in file ? file.models : []));
  const problems = problemsOfNeeds(described.map(toNeedingModel));
  const outcomes: Outcome[] = [];
  for (const file of read) outcomes.push(await checkOne(file, problems));
  const failed = outcomes.find((outcome) => outcome !== "good");
  if (failed === "unreadable") throw invalidArgument("Not every file can be read; the errors are listed above.");
  if (failed === "refused") throw failedPrecondition("Not every model can be served; the reasons are listed above.");
}

type Outcome = "good" | "refused" | "unreadable";

async function readOne(path: string): Promise<Checked | ServingError> {
  try {
    return isFolder(path) ? await readFolder(path) : await readFile(path);
  } catch (reason) {
    if (reason instanceof ServingError) return reason;
    throw reason;
  }
}

async function checkOne(file: Checked | ServingError, problems: ReadonlyMap<string, string>): Promise<Outcome> {
  if (file instanceof ServingError) {
    print(...file.message.split("\n").map((text) => `error: ${text}`));
    return "unreadable";
  }
  const { title, models, notes } = file;
  const inspected = await Promise.all(models.map((model) => inspect(model, problems)));
  const warnings = inspected.flatMap((model) => model.warnings.map((text) => `warning: ${text}`));
  print(title, ...toConfigTable(inspected), ...notes, ...warnings);
  return inspected.some(({ problem }) => problem !== undefined) ? "refused" : "good";
}

async function inspect(config: ModelConfig, problems: ReadonlyMap<string, string>): Promise<InspectedModel> {
  const problem = problems.get(config.name) ?? (await missingFiles(config));
  const found = await inspectModel(config);
  const warnings = [...found.warnings, ...labelWarnings(found)];
  return { ...(problem !== undefined && { problem }), ...found, warnings };
}

/** Labels that requests could not use. */
function labelWarnings({ config, chosen }: InspectedModel): string[] {
  if (chosen.length === 0) return [];
  const lost = [...config.labels].filter(([, version]) => !chosen.includes(version));
  return lost.map(
    ([label, version]) =>
      `The label ${label} of ${config.name} points to version ${version}, which is not served; expected one of ${chosen.join(", ")}.`,
  );
}

interface Checked {
  readonly title: string;
  readonly models: readonly ModelConfig[];
  readonly notes: readonly string[];
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

async function readFolder(path: string): Promise<Checked> {
  const { models, warnings } = await listModels(path);
  return { title: `${path} is a folder of models.`, models, notes: warnings.map((text) => `warning: ${text}`) };
}

async function readFile(path: string): Promise<Checked> {
  const { format, models, settings, batching, warnings } = await readConfigFile(path, [...FILE_SETTINGS.keys()]);
  readFileSettings(settings);
  const notes = [
    ...(batching === undefined ? [] : [`Options of all TensorFlow models: ${optionsText(batching)}`]),
    ...(settings.length === 0 ? [] : [`Settings: ${settings.map(({ key }) => key).join(", ")}`]),
    ...warnings.map((text) => `warning: ${text}`),
  ];
  return { title: `${path} is ${format}.`, models, notes };
}

function print(...lines: readonly string[]): void {
  console.log(printable(maskSecrets(lines.join("\n"))));
}

/**
 * The reason why a model cannot be served for want of a file that its configuration names besides its own path: a
 * stage's model, the hooks, a warm-up request, labels. Undefined if all of them are there.
 */
async function missingFiles(config: ModelConfig): Promise<string | undefined> {
  const local = namedFiles(config).filter(({ path }) => !isRemoteAddress(path));
  const problems = await Promise.all(local.map(problemOf));
  const found = problems.filter((problem) => problem !== undefined);
  return found.length === 0 ? undefined : found.join(" ");
}

interface NamedFile {
  readonly role: string;
  readonly path: string;
}

function namedFiles({ path, stages = [], hooks, warmUp, labelFiles }: ModelConfig): NamedFile[] {
  // If a model has a path, its stages lie in the folder of each version.
  const ofStages = path === undefined ? stages.map((stage) => stage.path) : [];
  return [
    ...ofStages.flatMap((each, index) =>
      each === undefined ? [] : [{ role: `model of stage ${index + 1}`, path: each }],
    ),
    ...(typeof hooks === "string" ? [{ role: "hook file", path: hooks }] : []),
    ...warmUpFiles(warmUp).map((each) => ({ role: "warm-up request", path: each })),
    ...Array.from(labelFiles?.values() ?? [], (each) => ({ role: "file of labels", path: each })),
  ];
}

async function problemOf({ role, path }: NamedFile): Promise<string | undefined> {
  try {
    await access(path);
    return undefined;
  } catch (reason) {
    return `The ${role} "${path}" ${readProblem(reason)}.`;
  }
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

/** `-o` options as they stand on the command line, without the flag; secrets are masked. */
function optionsText(options: Readonly<Record<string, string>>): string {
  return Object.entries(options)
    .map(([key, value]) => `${key}=${maskOption(key, value)}`)
    .join(" ");
}

/**
 * Lines that show the configuration that these flags of `kserving serve` would have: every setting with its value and
 * origin, and the named models; secrets are masked.
 */
async function showConfig(argv: readonly string[], env: Environment): Promise<readonly string[]> {
  const commandLine = await readServeSettings(argv, env);
  const settings = toColumns([["Setting", "Value", "Origin"], ...toRows(commandLine)]);
  const sources = toModelSources(commandLine);
  if (sources === undefined) return settings;
  const models = await new ConfigSources(sources).read(new ScanState(createSilentLogger(), 0));
  return [...settings, "", ...toConfigTable(await Promise.all(models.map(inspectModel)))];
}

function toRows({ settings, origins }: ServeCommandLine): string[][] {
  const values: Readonly<Record<string, unknown>> = settings;
  return settingsOf("serve").map(([name, setting]) => [
    flagOf(name).slice(2),
    maskSecrets(
      name === "option"
        ? optionTexts(settings.option)
        : valueText(values[name] === undefined ? undefined : writtenValue(setting, values[name])),
    ),
    origins.get(name) ?? "default",
  ]);
}

function optionTexts(options: readonly string[]): string {
  const masked = options.map((option) => {
    const [key = "", ...value] = option.split("=");
    return `${key}=${maskOption(key.replace(/^\d+:/, ""), value.join("="))}`;
  });
  return valueText(masked);
}

function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.join(", ") || "-";
  return value === undefined ? "-" : String(value);
}
