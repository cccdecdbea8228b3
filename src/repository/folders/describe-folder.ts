import { basename } from "node:path";
import { publicText } from "../../errors.ts";
import { modelConfig } from "../config/model-config.ts";
import { type FolderModel, hasTritonConfig, readTritonConfig } from "./read-triton-config.ts";

/** The name of the model in a folder. */
interface NameChoice {
  /** Counts before every other; absent = that of the folder. */
  readonly name?: string | undefined;
  /**
   * True where the folder is in no folder of models, so that its config.pbtxt may name
   * the model. Default: where a name is given.
   */
  readonly isAlone?: boolean;
}

/** The model in a folder, as its config.pbtxt says where it has one; a refused model where that cannot be read. */
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
export function refusedModel(place: { readonly name: string; readonly path: string }, reason: unknown): FolderModel {
  return { config: modelConfig({ ...place, refusal: publicText(reason).replace(/\.$/, "") }), warnings: [] };
}
