import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Subfolders of a model of transformers that exporters write graphs into. */
export const EXPORT_FOLDERS: readonly string[] = ["onnx", "openvino"];

/** The folder with the tokenizer of a model: its own, or the one above if it is in a folder of exported graphs. */
export function tokenizerFolder(path: string): string | undefined {
  if (path === "") return undefined;
  const own = dirname(path);
  const folders = [path, own, ...(EXPORT_FOLDERS.includes(basename(own)) ? [dirname(own)] : [])];
  return folders.find((folder) => existsSync(join(folder, "tokenizer.json")));
}
