import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Subfolders of a model of transformers that exporters write graphs into. */
const EXPORT_FOLDERS: readonly string[] = ["onnx", "openvino"];

/** The graph that exporters put below a tokenizer, as in most folders of Hugging Face; undefined if there is none. */
export function exportedGraph(folder: string): string | undefined {
  const graph = join(folder, "onnx", "model.onnx");
  return existsSync(join(folder, "tokenizer.json")) && existsSync(graph) ? graph : undefined;
}

/** The folder with the tokenizer of a model: its own, or the one above if it is in a folder of exported graphs. */
export function tokenizerFolder(path: string): string | undefined {
  if (path === "") return undefined;
  const own = dirname(path);
  const folders = [path, own, ...(EXPORT_FOLDERS.includes(basename(own)) ? [dirname(own)] : [])];
  return folders.find((folder) => existsSync(join(folder, "tokenizer.json")));
}
