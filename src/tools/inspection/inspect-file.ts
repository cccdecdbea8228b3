import { accessSync, constants, readFileSync } from "node:fs";
import { basename } from "node:path";
import { describeFileKind, readHead } from "../../drivers/file-kind.ts";
import { ProtobufError } from "../../drivers/onnx/protobuf-file.ts";
import { findModelSource, looksLikeModel } from "../../drivers/tensorflow/model-source.ts";
import { failedPrecondition } from "../../errors.ts";
import { readProblem } from "../../platform/text/file-problem.ts";
import { countOne, countWeight, type FileFacts, type WeightCount } from "./file-facts.ts";

/**
 * Reads what a model's file or folder says of itself, without a runtime. Formats that only their frameworks read give
 * their kind alone. Throws `failed_precondition` for a path that cannot be read, or that is damaged.
 */
export async function inspectFile(path: string): Promise<FileFacts> {
  if (/\.onnx$/i.test(path)) return readOnnx(path);
  if (/\.xml$/i.test(path)) return readOpenvino(path);
  if (looksLikeModel(path)) return readTensorflow(path);
  return { format: kindOf(path), metadata: {} };
}

async function readOnnx(path: string): Promise<FileFacts> {
  const { inspectOnnx } = await import("./inspect-onnx.ts");
  const { readModelFile } = await import("../../drivers/onnx/model-file.ts");
  // It refuses, and says what else the file may be.
  if (readModelFile(path) === undefined) return { format: "ONNX Runtime's ORT format", metadata: {} };
  try {
    return inspectOnnx(path);
  } catch (cause) {
    if (!(cause instanceof ProtobufError)) throw cause;
    throw failedPrecondition(`"${path}" is damaged: ${cause.message}`, cause);
  }
}

async function readTensorflow(path: string): Promise<FileFacts> {
  const source = findModelSource(path);
  switch (source.format) {
    case "saved-model":
      return (await import("./inspect-tensorflow.ts")).inspectSavedModel(source.path);
    case "frozen-graph":
      return (await import("./inspect-tensorflow.ts")).inspectFrozenGraph(source.path);
    case "tfjs-graph":
    case "tfjs-layers":
      return (await import("./inspect-keras.ts")).inspectTfjs(source.path);
    case "tflite":
      return (await import("./inspect-tflite.ts")).inspectTflite(source.path);
    default:
      return (await import("./inspect-keras.ts")).inspectKeras(source);
  }
}

const LAYER = /<layer [^<>]{0,4096}?\stype="([^"<>]{0,256})"/g;
const NOTE = /<(\w+) value="([^"]*)"\s*\/>/g;
const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

/** Facts about an IR's .xml file; throws `failed_precondition` for a damaged one. */
async function readOpenvino(path: string): Promise<FileFacts> {
  const { constantsOf, readIrFile } = await import("../../drivers/openvino/ir-file.ts");
  const { dtypeOf } = await import("../../drivers/openvino/element-types.ts");
  readIrFile(path);
  const text = readFileSync(path, "utf8");
  const operators = new Map<string, number>();
  for (const [, type = ""] of text.matchAll(LAYER)) countOne(operators, type);
  const weights = new Map<string, WeightCount>();
  for (const { type, shape, size } of constantsOf(text)) {
    const sizes = shape.split(",").filter((each) => each.trim() !== "");
    const elements = sizes.reduce((product, each) => product * Number(each), 1);
    countWeight(weights, dtypeOf(type) ?? type, { elements, bytes: size });
  }
  const notes = text.slice(Math.max(0, text.lastIndexOf("</edges>")));
  const metadata = Object.fromEntries([...notes.matchAll(NOTE)].map(([, name, value = ""]) => [name, plain(value)]));
  const writer = metadata.Runtime_version ?? metadata.MO_version;
  const name = /<net name="([^"]*)"/.exec(text)?.[1];
  return {
    format: `OpenVINO IR, version ${/<net [^>]*?\bversion="(\d+)"/.exec(text)?.[1]}`,
    ...(writer !== undefined && { producer: `OpenVINO ${writer}` }),
    operators,
    weights,
    metadata: { ...(name !== undefined && { name: plain(name) }), ...metadata },
  };
}

function plain(text: string): string {
  return text.replace(/&(\w+);/g, (all, name: string) => ENTITIES[name] ?? all);
}

/** Kinds of files by their endings, if their first bytes say little. */
const KINDS: readonly (readonly [pattern: RegExp, kind: string])[] = [
  [/\.ort$/i, "ONNX Runtime's ORT format"],
  [/\.(pt|pth|torchscript|jit)$/i, "PyTorch file"],
  [/\.pt2$/i, "PyTorch exported program"],
  [/\.(joblib|pkl|pickle)$/i, "Python pickle"],
  [/\.(ubj|bst|xgb)$/i, "XGBoost model"],
  [/\.(lgb|lgbm)$/i, "LightGBM model"],
];

function kindOf(path: string): string {
  assertReadable(path);
  const known = KINDS.find(([pattern]) => pattern.test(path))?.[1];
  const found = describeFileKind(readHead(path));
  return known ?? (found === undefined ? `unknown (${basename(path)})` : `unknown: it looks like ${found}`);
}

function assertReadable(path: string): void {
  try {
    accessSync(path, constants.R_OK);
  } catch (cause) {
    throw failedPrecondition(`The model "${path}" ${readProblem(cause)}; expected one that can be read.`, cause);
  }
}
