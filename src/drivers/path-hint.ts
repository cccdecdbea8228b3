import { existsSync, readdirSync, statSync } from "node:fs";
import { extname } from "node:path";
import { describeFileKind, describeNoModel } from "./file-kind.ts";
import { readHead } from "./read-head.ts";

/** Files of formats that no driver runs, or that are parts of a model, by their names. */
const NAMES: readonly (readonly [name: RegExp, meaning: string])[] = [
  [/\.(mlmodel|mlpackage|mlmodelc)$/i, "a Core ML model, which no driver runs; convert what it was made from to ONNX"],
  [/\.(engine|plan|trt)$/i, "an engine of TensorRT; serve the ONNX model that it was built from"],
  [/\.(caffemodel|prototxt)$/i, "a Caffe model, which no driver runs; convert it to ONNX"],
  [
    /\.ckpt[-.]|\.(index|meta|data-\d+-of-\d+)$/i,
    "a checkpoint: weights without a model; export the model from the program that trained it",
  ],
];

/** Folders by a file in them. */
const CONTENTS: readonly (readonly [file: RegExp, meaning: string])[] = [
  [/^config\.json$/, "a model of Hugging Face: add --driver transformers"],
  [/^com\.apple\.CoreML$|\.ml(model|package)$/i, NAMES[0]![1]],
  [/^checkpoint$|\.index$/, NAMES.at(-1)![1]],
  [/weights_manifest\.json$/, "weights of TensorFlow.js without their model.json"],
];

/**
 * The next step for a path that no driver recognises by its name, as a sentence: the file that is the model, the driver
 * of what it looks like, or that there is none. Empty where nothing is known of it.
 */
export function pathHint(path: string): string {
  const meaning = isFolder(path) ? inFolder(path) : (weightsOf(path) ?? ofFile(path));
  return meaning === undefined ? "" : ` It looks like ${meaning}.`;
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function inFolder(path: string): string | undefined {
  const byName = meaningOf(NAMES, path);
  if (byName !== undefined) return byName;
  const names = readdirSync(path);
  return CONTENTS.find(([file]) => names.some((name) => file.test(name)))?.[1];
}

function weightsOf(path: string): string | undefined {
  if (extname(path) !== ".bin") return undefined;
  const stem = path.slice(0, -".bin".length);
  const model = [".xml", ".json"].map((ending) => stem + ending).find((file) => existsSync(file));
  return model === undefined ? undefined : `the weights of ${model}; expected that file`;
}

function ofFile(path: string): string | undefined {
  const head = readHead(path);
  return describeNoModel(head) ?? meaningOf(NAMES, path) ?? describeFileKind(head);
}

function meaningOf(table: typeof NAMES, path: string): string | undefined {
  return table.find(([pattern]) => pattern.test(path))?.[1];
}
