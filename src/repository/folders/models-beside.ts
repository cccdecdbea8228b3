import { parseVersion } from "../../serving/parse-version.ts";
import { findModel, isDetected, modelsIn } from "./find-model.ts";
import { type FolderEntry, listFolder } from "./list-folder.ts";
import { hasTritonConfig } from "./read-triton-config.ts";

/**
 * The models in a folder besides the one that it means by itself (`findModel`): those next to it, and folders that have
 * a model, or versions of one.
 */
export async function modelsBeside(folder: string, model: string): Promise<readonly FolderEntry[]> {
  const others = (await listFolder(folder)).filter(({ path }) => path !== model);
  const detected = await modelsIn(others);
  const folders = others.filter((entry) => entry.kind === "folder" && !detected.includes(entry));
  const holding = await Promise.all(folders.map(({ path }) => holdsModel(path)));
  return [...detected, ...folders.filter((_, index) => holding[index])];
}

async function holdsModel(folder: string): Promise<boolean> {
  if ((await hasTritonConfig(folder)) || (await meansModel(folder))) return true;
  const versions = (await listFolder(folder).catch(() => [])).filter(isVersion);
  return (await Promise.all(versions.map(({ path }) => meansModel(path)))).includes(true);
}

async function meansModel(folder: string): Promise<boolean> {
  const model = await findModel(folder).catch(() => undefined);
  return model !== undefined && (await isDetected(model));
}

function isVersion({ kind, name }: FolderEntry): boolean {
  return kind === "folder" && parseVersion(name) !== undefined;
}
