import { parse, resolve } from "node:path";
import { pathHint } from "../../drivers/path-hint.ts";
import { failedPrecondition } from "../../errors.ts";
import { parseVersion } from "../../serving/parse-version.ts";
import { type ModelConfig, modelConfig } from "../config/model-config.ts";
import { describeFolder, refusedModel } from "./describe-folder.ts";
import { isDetected } from "./find-model.ts";
import { type FolderEntry, listFolder } from "./list-folder.ts";
import { hasTritonConfig } from "./read-triton-config.ts";

/** The models of a folder. */
export interface ModelList {
  readonly models: readonly ModelConfig[];
  readonly warnings: readonly string[];
}

/**
 * Lists the models of a folder: each folder in it, with or without versions, and each file that a driver recognises. A
 * folder that is a model itself, or that has versions or the config.pbtxt of one, is that model. A folder whose
 * config.pbtxt cannot be read is a refused model. Throws `failed_precondition` where there is no model.
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
  const isVersion = ({ kind, name }: FolderEntry) => kind === "folder" && parseVersion(name) !== undefined;
  return entries.some(isVersion) || (await hasTritonConfig(path)) || (await isDetected(path));
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
