import { isAbsolute, relative, resolve, sep } from "node:path";
import type { RawOptions } from "../../drivers/option-table.ts";
import { isDriverFile } from "../../drivers/registry.ts";
import { failedPrecondition } from "../../errors.ts";
import { filesBesideModel } from "../../models/texts/text-options.ts";
import { AUTH_SETTINGS, ENCRYPTION_SETTINGS } from "../../platform/limits/settings/access-settings.ts";
import type { Setting } from "../../platform/limits/settings/setting.ts";
import { type ModelConfig, modelConfig } from "../../serving/repository/config/model-config.ts";
import type { ListedPath } from "../../serving/repository/folder-source.ts";
import { describeFolder, listModels } from "../../serving/repository/folders/list-models.ts";
import { pairModels } from "../../serving/repository/stage.ts";
import { isRemoteAddress } from "../../storage/remote-address.ts";
import type { DeployedModel, Deployment } from "../../tools/export/deployment.ts";
import { readVersion } from "../../version.ts";
import { toModelSources } from "../commands/model-sources.ts";
import { isModelFlag } from "../commands/to-server-options.ts";
import { parseOptionFlags } from "../settings/parse-option-flags.ts";
import { readServeSettings, type ServeCommandLine } from "../settings/read-serve-settings.ts";
import { envOf, flagOf, SETTINGS, type SettingName, writtenValue } from "../settings/settings.ts";
import { filesOfModel, filesOfModule, needsOf } from "./deployment-needs.ts";

/** Names of the deployment and of its image, if the user gives them. */
export interface DeploymentNames {
  readonly name?: string;
  readonly image?: string;
}

/**
 * Reads a command line of `kserving serve` as it is to run elsewhere. Variables of the environment do not count. Throws
 * as the command line would, and `failed_precondition` for files that are not below `folder`, which is what an image is
 * built from.
 */
export async function readDeployment(
  args: readonly string[],
  { name, image }: DeploymentNames,
  folder = process.cwd(),
): Promise<Omit<Deployment, "program">> {
  const commandLine = await readServeSettings(args, {});
  const { settings, origins } = commandLine;
  const models = await modelsOf(commandLine);
  const hooks = await filesOfModule(settings.hooks);
  const toOwn = (path: string) => toRelative(path, folder);
  const files = [...settings.config, ...(await filesOf(models, commandLine)), ...hooks];
  const [mainHook, ...imported] = hooks.map(toOwn);
  const title = toLabel(name ?? models[0]?.name ?? settings.name);
  return {
    name: title,
    image: image ?? `${title}:1`,
    version: readVersion(),
    args: args.map((word) => ownWord(word, folder)),
    files: [...new Set(files.filter((path) => !isRemoteAddress(path)).map(toOwn))],
    models: models.flatMap(({ path, options: _, texts, ...rest }) => {
      const beside = texts.length > 0 && { texts: texts.map(toOwn) };
      return path === undefined ? [] : [{ ...rest, path: ownPath(path, toOwn), ...beside }];
    }),
    ...(mainHook !== undefined && { hooks: [mainHook, ...imported] as const }),
    secrets: secretsOf(commandLine),
    written: writtenBy(commandLine),
    hasDevice: models.some(({ options }) => DEVICE_OPTIONS.some((key) => DEVICE.test(options[key] ?? ""))),
    variables: variablesOf(commandLine),
    hasConfig: settings.config.length > 0,
    ...(await needsOf(models, hooks)),
    ...(origins.has("host") && { host: settings.host }),
    grpcPort: settings.port,
    ...(settings.httpEnable && { httpPort: settings.httpPort }),
    stopSeconds: (settings.shutdownDelayMs + settings.drainTimeoutMs) / 1000,
  };
}

/** A model, or a stage of one, as the command line has it. */
type GivenModel = Omit<DeployedModel, "path" | "texts"> & { readonly path?: string; readonly options: RawOptions };

/** The same with the files that it has for texts. */
type FoundModel = GivenModel & { readonly texts: readonly string[] };

async function modelsOf(commandLine: ServeCommandLine): Promise<readonly FoundModel[]> {
  const given = await givenModels(commandLine);
  return Promise.all(
    given.map(async (model) => ({ ...model, texts: await filesBesideModel(model.path ?? "", model.options) })),
  );
}

async function givenModels(commandLine: ServeCommandLine): Promise<readonly GivenModel[]> {
  const sources = toModelSources(commandLine);
  if (sources === undefined) {
    const stages = pairModels(commandLine.listed.filter(isModelFlag));
    const options = parseOptionFlags(commandLine.settings.option, stages.length);
    return stages.map(({ driver, path }, index) => ({
      name: commandLine.settings.name,
      driver: driver as string,
      path: path as string,
      options: { ...options.shared, ...options.stages[index] },
    }));
  }
  const { models = [], named = [], folders = [], options = {} } = sources;
  const described = await Promise.all(named.map(describeNamed));
  const listed = await Promise.all(folders.filter((path) => !isRemoteAddress(path)).map(listModels));
  const configs = [...models, ...described, ...commandLine.configs.flatMap((config) => config.models)];
  const all = [...configs, ...listed.flatMap((list) => list.models)].flatMap(withStages);
  return all.map((model) => ({ ...model, options: { ...options, ...model.options } }));
}

async function describeNamed({ name, path }: Required<ListedPath>): Promise<ModelConfig> {
  return isRemoteAddress(path) ? modelConfig({ name, path }) : (await describeFolder(path, { name })).config;
}

function withStages({ name, path = "", driver, stages, options }: ModelConfig): readonly GivenModel[] {
  const own = driver === undefined ? {} : { driver };
  if (stages === undefined) return [{ name, path, ...own, options }];
  return stages.map((stage) => ({
    name,
    path: resolve(path, stage.path ?? ""),
    ...(typeof stage.driver === "string" && { driver: stage.driver }),
    options: { ...options, ...stage.options },
  }));
}

/** Files of models and folders of models, of drivers that are files, and of the hooks that configurations name. */
async function filesOf(
  models: readonly FoundModel[],
  { configs, settings }: ServeCommandLine,
): Promise<readonly string[]> {
  const paths = [...settings.modelRepository, ...models.map(({ path }) => path)];
  const ofModels = await Promise.all(paths.map(filesOfModel));
  const ofTexts = models.flatMap(({ texts }) => texts);
  const hooks = configs
    .flatMap((config) => config.models)
    .map(({ hooks: file }) => (typeof file === "string" ? file : undefined));
  const drivers = models.map(({ driver }) => driver).filter((driver) => driver !== undefined && isDriverFile(driver));
  const modules = [...new Set([...hooks, ...drivers])];
  return [...ofModels, ...(await Promise.all(modules.map(filesOfModule)))].flat().concat(ofTexts);
}

/** Settings that the files of the targets say in their own way. */
const OWN_WAY: readonly SettingName[] = [
  ...(["driver", "modelPath", "model", "modelRepository", "config", "hooks", "name"] as const),
  ...(["host", "port", "httpEnable", "httpPort", "httpServerCommand"] as const),
];

function variablesOf({ settings, origins }: ServeCommandLine): Readonly<Record<string, string>> {
  const names = [...origins.keys()].filter((name) => !OWN_WAY.includes(name));
  const written = (name: SettingName) => writtenValue(SETTINGS[name], settings[name as keyof typeof settings]);
  return Object.fromEntries(names.map((name) => [envOf(name), textOf(written(name))]));
}

function textOf(value: unknown): string {
  return Array.isArray(value) ? value.join(",") : String(value);
}

/** Flags of keys, certificates and users; a set of keys may be at an address. */
function secretsOf({ settings, origins }: ServeCommandLine): readonly string[] {
  const all: Readonly<Record<string, Setting>> = { ...AUTH_SETTINGS, ...ENCRYPTION_SETTINGS };
  const isFile = (name: SettingName) =>
    name === "authJwks" ? !/^https?:/i.test(settings.authJwks ?? "") : all[name]?.isPath;
  return [...origins.keys()].filter(isFile).map(flagOf);
}

/** Settings that name what the server writes. */
const WRITTEN = ["logPath", "requestLog", "keepFatalRequests", "grpcSocketPath", "modelCache"] as const;

function writtenBy({ settings, origins }: ServeCommandLine): Readonly<Record<string, string>> {
  const given = WRITTEN.filter((name) => origins.has(name));
  return Object.fromEntries(given.map((name) => [flagOf(name), settings[name] ?? ""]));
}

/** Options of drivers that say what computes a model. */
const DEVICE_OPTIONS = ["runtime_backend", "device"];
const DEVICE = /gpu|npu|cuda|tensorrt|auto/i;

function ownPath(path: string, toOwn: (path: string) => string): string {
  return isRemoteAddress(path) ? path : toOwn(path);
}

/** A path from the folder on; it ends with a slash if it is a folder's, as `path` does. */
function toRelative(path: string, folder: string): string {
  const own = relative(folder, resolve(folder, path));
  if (own === ".." || own.startsWith(`..${sep}`) || isAbsolute(own))
    throw failedPrecondition(
      `"${path}" is not below "${folder}", from which the image is built; expected a command line given in a folder around all of its files.`,
    );
  const isFolder = path.endsWith("/") || own === "";
  return (isFolder ? `${own}/` : own).split(sep).join("/").replace(/^\/$/, "./");
}

/** A word of the command line with paths from the folder on, as they are in the image. */
function ownWord(word: string, folder: string): string {
  const [, flag = "", path = ""] = /^(--[\w-]+=)?(.*)$/s.exec(word) ?? [];
  const own = relative(folder, resolve(folder, path));
  const isAround = path === folder || (path.startsWith("..") && !own.startsWith(".."));
  return isAround ? `${flag}${own || "."}` : word.replaceAll(`${folder}${sep}`, "");
}

/** A name as Kubernetes takes it, with room for an ending. */
function toLabel(name: string): string {
  const label = name.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  const trimmed = label.replace(/^-/, "");
  const isName = /^[a-z]/.test(trimmed);
  return (isName ? trimmed : `kserving-${trimmed}`).slice(0, 50).replace(/-$/, "");
}
