import { statSync } from "node:fs";
import { access } from "node:fs/promises";
import type { Command } from "commander";
import { failedPrecondition, invalidArgument, ServingError } from "../../errors.ts";
import { readProblem } from "../../platform/text/file-problem.ts";
import { maskSecrets } from "../../platform/text/mask-secrets.ts";
import { printable } from "../../platform/text/terminal.ts";
import { problemsOfNeeds } from "../../serving/check-needs.ts";
import { type ModelConfig, toNeedingModel } from "../../serving/repository/config/model-config.ts";
import { readConfigFile } from "../../serving/repository/config/read-config-file.ts";
import { type InspectedModel, inspectModel, listModels } from "../../serving/repository/folders/list-models.ts";
import { warmUpFiles } from "../../serving/repository/warm-up/warm-up-entry.ts";
import { isRemoteAddress } from "../../storage/remote-address.ts";
import { configSchema } from "../settings/config-schema.ts";
import type { Environment } from "../settings/environment.ts";
import { toUsageError } from "../settings/parse-settings.ts";
import { FILE_SETTINGS, readFileSettings } from "../settings/read-file-settings.ts";
import { optionsText, showConfig, toConfigTable } from "./config-table.ts";
import { createParser } from "./create-parser.ts";

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
