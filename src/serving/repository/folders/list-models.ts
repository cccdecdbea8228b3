import { access } from "node:fs/promises";
import { basename, parse, resolve } from "node:path";
import { pathHint } from "../../../drivers/file-kind.ts";
import { failedPrecondition, publicText } from "../../../errors.ts";
import { readProblem } from "../../../platform/text/file-problem.ts";
import type { ModelStorage } from "../../../storage/model-storage.ts";
import { addressBelow, isRemoteAddress, shownAddress } from "../../../storage/remote-address.ts";
import { type ModelConfig, modelConfig } from "../config/model-config.ts";
import { warmUpFiles } from "../warm-up/warm-up-entry.ts";
import { chosenVersions, readIndex } from "./chosen-versions.ts";
import { findModel, isDetected, locateModel, modelsIn } from "./find-model.ts";
import { type FolderEntry, isVersionFolder, listFolder } from "./list-folder.ts";
import type { FoundVersion } from "./list-versions.ts";
import { type FolderModel, hasTritonConfig, readTritonConfig } from "./read-triton-config.ts";

/** The models of a folder. */
export interface ModelList {
  readonly models: readonly ModelConfig[];
  readonly warnings: readonly string[];
}

/**
 * Lists the models of a folder: each folder in it, with or without versions, and each file that a driver recognises. A
 * folder that is a model itself, or that has versions or the config.pbtxt of one, is that model. A folder whose
 * config.pbtxt cannot be read is a refused model. Throws `failed_precondition` if there is no model.
 */
export async function listModels(folder: string): Promise<ModelList> {
  const path = resolve(folder);
  const entries = await listFolder(path);
  if (await isOneModel(path, entries)) {
    const { config, warnings } = await describeFolder(path, { isAlone: true });
    return { models: [config], warnings };
  }
  const models: ModelConfig[] = [];
  const warnings: string[] = [];
  for (const entry of entries) {
    const described = await describe(entry);
    if (described === undefined) continue;
    warnings.push(...described.warnings);
    if (models.some(({ name }) => name === described.config.name)) warnings.push(twice(entry, described.config));
    else models.push(described.config);
  }
  if (models.length > 0) return { models, warnings };
  const expected = "expected a folder for each model, with folders of versions in it or the model itself";
  const empty = entries.length === 0 ? ", it is empty" : "";
  throw failedPrecondition(`The folder "${folder}" has no model${empty}; ${expected}.${pathHint(path)}`);
}

async function isOneModel(path: string, entries: readonly FolderEntry[]): Promise<boolean> {
  return entries.some(isVersionFolder) || (await hasTritonConfig(path)) || (await isDetected(path));
}

async function describe({ name, path, kind }: FolderEntry) {
  if (kind === "file") {
    if (!(await isDetected(path))) return undefined;
    return { config: modelConfig({ name: parse(name).name, path }), warnings: [] };
  }
  if (kind === "other") return undefined;
  try {
    await listFolder(path);
  } catch (reason) {
    return refusedModel({ name, path }, reason);
  }
  return describeFolder(path);
}

/** `emotion.onnx` next to a folder `emotion`. */
function twice({ path }: FolderEntry, { name }: ModelConfig): string {
  return `${path} is left out, since there is another model called ${name}; give it another name.`;
}

/** Lists the models at an address as `list` does those at a path; throws the errors of the server too. */
export async function listRemoteModels(
  address: string,
  storage: ModelStorage,
  list: (path: string) => Promise<ModelList> = listModels,
): Promise<ModelList> {
  return readIndex(address, storage, async (index, toShown) => {
    const own = basename(index);
    const toRemote = ({ name, path, refusal, ...rest }: ModelConfig): ModelConfig => ({
      ...rest,
      name: path === index && name === own ? basename(shownAddress(address)) : name,
      ...(path !== undefined && { path: addressBelow(address, path.slice(index.length)) }),
      ...(refusal !== undefined && { refusal: toShown(refusal) }),
    });
    const { models, warnings } = await list(index);
    return { models: models.map(toRemote), warnings: warnings.map(toShown) };
  });
}

/** The name of the model in a folder. */
interface NameChoice {
  /** Counts before every other; absent = that of the folder. */
  readonly name?: string | undefined;
  /**
   * True if the folder is in no folder of models, so that its config.pbtxt may name
   * the model. Default: if a name is given.
   */
  readonly isAlone?: boolean;
}

/** The model in a folder, as its config.pbtxt says if it has one; a refused model if that cannot be read. */
export async function describeFolder(
  path: string,
  { name, isAlone = name !== undefined }: NameChoice = {},
): Promise<FolderModel> {
  const place = { name: name ?? basename(path), path };
  if (!(await hasTritonConfig(path))) return { config: modelConfig(place), warnings: [] };
  try {
    const { config, warnings } = await readTritonConfig(path, isAlone);
    return { config: { ...config, ...(name !== undefined && { name }) }, warnings };
  } catch (reason) {
    return refusedModel(place, reason);
  }
}

/** A model that cannot be served for a reason, which becomes part of a sentence. */
function refusedModel(place: { readonly name: string; readonly path: string }, reason: unknown): FolderModel {
  return { config: modelConfig({ ...place, refusal: publicText(reason).replace(/\.$/, "") }), warnings: [] };
}

/**
 * The models in a folder besides the one that it means by itself (`findModel`): those next to it, and folders that have
 * a model, or versions of one.
 */
export async function modelsBeside(folder: string, model: string): Promise<readonly FolderEntry[]> {
  // A description may mean a model in a folder of the folder.
  const others = (await listFolder(folder)).filter(({ path }) => path !== model && !model.startsWith(`${path}/`));
  const detected = await modelsIn(others);
  const folders = others.filter((entry) => entry.kind === "folder" && !detected.includes(entry));
  const holding = await Promise.all(folders.map(({ path }) => holdsModel(path)));
  return [...detected, ...folders.filter((_, index) => holding[index])];
}

async function holdsModel(folder: string): Promise<boolean> {
  if ((await hasTritonConfig(folder)) || (await meansModel(folder))) return true;
  const versions = (await listFolder(folder).catch(() => [])).filter(isVersionFolder);
  return (await Promise.all(versions.map(({ path }) => meansModel(path)))).includes(true);
}

async function meansModel(folder: string): Promise<boolean> {
  const model = await findModel(folder).catch(() => undefined);
  return model !== undefined && (await isDetected(model));
}

/** A model as this machine would serve it with its configuration. */
export interface InspectedModel {
  readonly config: ModelConfig;
  /** The models of the highest version; several for a pipeline. */
  readonly driver: string;
  readonly chosen: readonly bigint[];
  readonly available: readonly bigint[];
  readonly warnings: readonly string[];
  /** The reason why it would not be served. */
  readonly problem?: string;
}

/** Collects facts about a model without loading it. */
export async function inspectModel(config: ModelConfig): Promise<InspectedModel> {
  const problem = await missingFiles(config);
  const found = await inspectVersions(config);
  const warnings = [...found.warnings, ...labelWarnings(found)];
  return { ...(problem !== undefined && { problem }), ...found, warnings };
}

async function inspectVersions(config: ModelConfig): Promise<InspectedModel> {
  const nothing = { config, driver: "-", chosen: [], available: [], warnings: [] };
  if (config.refusal !== undefined) return { ...nothing, problem: `${config.refusal}.` };
  // Not looked at: that would take credentials, and requests.
  if (isRemoteAddress(config.path ?? "")) return nothing;
  try {
    const { chosen, available, warnings } = await chosenVersions(config);
    const numbersOf = (versions: readonly FoundVersion[]) => versions.map(({ version }) => version);
    const found = { config, available: numbersOf(available), warnings, chosen: numbersOf(chosen) };
    const highest = chosen.at(-1);
    if (highest === undefined) return { ...nothing, ...found, problem: "none of its versions is there." };
    return { ...found, driver: await driverOf(config, highest.path) };
  } catch (reason) {
    return { ...nothing, problem: publicText(reason) };
  }
}

async function driverOf(config: ModelConfig, path: string): Promise<string> {
  const { stages, driver } = config;
  if (stages !== undefined)
    return stages.map((stage) => stage.driver ?? (stage.model === undefined ? "by its path" : "served")).join(" → ");
  return path === "" ? (driver ?? "-") : (await locateModel(path, config)).driver;
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
