import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Subfolders of a model of transformers that exporters write graphs into. */
export const EXPORT_FOLDERS: readonly string[] = ["onnx", "openvino"];

/** Subfolder into which older versions of sentence-transformers put the encoder, and its tokenizer with it. */
const MODULE_FOLDER = "0_Transformer";

/**
 * The folder with the tokenizer of a model: its own, or the one above if it is in a folder of exported graphs, or the
 * encoder's in one of these.
 */
export function tokenizerFolder(path: string): string | undefined {
  if (path === "") return undefined;
  const own = dirname(path);
  const folders = [path, own, ...(EXPORT_FOLDERS.includes(basename(own)) ? [dirname(own)] : [])];
  const all = folders.flatMap((folder) => [folder, join(folder, MODULE_FOLDER)]);
  return all.find((folder) => existsSync(join(folder, "tokenizer.json")));
}

/** The folder with `modules.json` of a model of sentence-transformers, by that of its tokenizer. */
export function modulesFolder(folder: string): string {
  return basename(folder) === MODULE_FOLDER ? dirname(folder) : folder;
}
