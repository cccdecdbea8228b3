import { readFileSync } from "node:fs";
import type { ModelSource } from "../model-source.ts";
import { graphFiles } from "./graph-files.ts";

/**
 * Names in a graph that TensorFlow 2.21 cannot fuse with the next nodes, but tries to, which ends the process:
 * depthwise convolutions with a padding of their own.
 */
const SIGNS = ["DepthwiseConv2dNative", "EXPLICIT"];

/**
 * Checks if a model must be run as it is written, layer by layer. Looks for names in the file: some that would do no
 * harm are found too, and run slower.
 */
export function breaksFusing(source: ModelSource): boolean {
  return graphFiles(source).some((file) => hasAll(readFileSync(file), SIGNS));
}

function hasAll(bytes: Buffer, texts: readonly string[]): boolean {
  return texts.every((text) => bytes.includes(text, 0, "latin1"));
}
