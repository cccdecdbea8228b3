import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type ModelSource, SAVED_MODEL_FILES } from "../model-source.ts";

/** What a graph has that TensorFlow 2.21 cannot fuse with what follows, but tries to, which ends the process: depthwise convolutions with a padding of their own. */
const SIGNS = ["DepthwiseConv2dNative", "EXPLICIT"];

/** Whether a model is to be run as it is written, layer by layer. Looks for names in the file: some that would do no harm are found too, and run slower. */
export function breaksFusing({ format, path }: ModelSource): boolean {
  const files = format === "saved-model" ? SAVED_MODEL_FILES.map((name) => join(path, name)) : [path];
  return files.some((file) => existsSync(file) && hasAll(readFileSync(file), SIGNS));
}

function hasAll(bytes: Buffer, texts: readonly string[]): boolean {
  return texts.every((text) => bytes.includes(text, 0, "latin1"));
}
