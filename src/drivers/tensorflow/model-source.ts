import { existsSync, readdirSync, readFileSync, type Stats, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { failedPrecondition } from "../../errors.ts";
import { readProblem } from "../../platform/text/file-problem.ts";
import { describeFileKind, folderContents, readHead } from "../file-kind.ts";
import { boosterLibrary } from "../python/booster-file.ts";

/** Formats of TensorFlow's models. */
export type ModelFormat = "saved-model" | "frozen-graph" | "tfjs-graph" | "tfjs-layers" | "tflite" | "h5" | "keras";

/** A model on disk. */
export interface ModelSource {
  readonly format: ModelFormat;
  /** The folder of a SavedModel, else the file. */
  readonly path: string;
}

/** Files by which a folder is a model. */
export const SAVED_MODEL_FILES = ["saved_model.pb", "saved_model.pbtxt"];
const TFJS_FILE = "model.json";

/** Checks that a path's name is one of a model; a SavedModel's folder is known by a file within. */
export function looksLikeModel(path: string): boolean {
  if (/\.(?:pb|tflite|h5|hdf5|keras)$/i.test(basename(path))) return true;
  if (basename(path).toLowerCase() === TFJS_FILE) return isOwnJson(path);
  if (SAVED_MODEL_FILES.some((file) => existsSync(join(path, file)))) return true;
  const json = join(path, TFJS_FILE);
  return existsSync(json) && isOwnJson(json);
}

/** XGBoost's models have the same name. */
function isOwnJson(path: string): boolean {
  return boosterLibrary(path) === undefined;
}

/** Determines the kind of a path; throws `failed_precondition` with the found and the expected kind. */
export function findModelSource(path: string): ModelSource {
  const stat = statOf(path);
  if (stat.isDirectory()) return inFolder(path);
  if (SAVED_MODEL_FILES.includes(basename(path))) return { format: "saved-model", path: dirname(path) };
  if (stat.size === 0) throw failedPrecondition(`The model file "${path}" is empty; export or download it again.`);
  return { format: formatOfFile(path), path };
}

const EXPECTED =
  "a SavedModel's folder, a frozen graph (.pb), a model.json of TensorFlow.js, a .tflite, .h5 or .keras file";

function statOf(path: string): Stats {
  try {
    return statSync(path);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw failedPrecondition(
      code === "ENOENT" || code === "ENOTDIR"
        ? `No model at "${path}"; expected ${EXPECTED}.`
        : `The model "${path}" ${readProblem(cause)}; expected one that can be read.`,
      cause,
    );
  }
}

function inFolder(path: string): ModelSource {
  const names = readdirSync(path).sort();
  if (SAVED_MODEL_FILES.some((file) => names.includes(file))) return { format: "saved-model", path };
  if (names.includes(TFJS_FILE)) return findModelSource(join(path, TFJS_FILE));
  const models = names.filter((name) => /\.(pb|tflite|h5|keras)$/.test(name));
  const versions = names.filter((name) => /^\d+$/.test(name));
  throw failedPrecondition(
    `The folder "${path}" has no saved_model.pb and no model.json; expected ${EXPECTED}.`,
    versions.length > 0
      ? folderContents(versions, ": give the folder of one")
      : folderContents(models, ": give the file itself"),
  );
}

/** Signatures of formats: the offset, and the bytes there. */
const SIGNATURES: readonly (readonly [offset: number, signature: string, format: ModelFormat])[] = [
  [4, "TFL3", "tflite"],
  [0, "\x89HDF", "h5"],
  [0, "PK\x03\x04", "keras"],
  // A GraphDef begins with its first node; a node's name is its first field.
  [0, "\x0a", "frozen-graph"],
];

function formatOfFile(path: string): ModelFormat {
  const head = readHead(path);
  if (/^\s*\{/.test(head)) return formatOfJson(path);
  const found = SIGNATURES.find(([offset, signature]) => head.startsWith(signature, offset))?.[2];
  if (found !== undefined && fitsName(found, path)) return found;
  const meaning = describeFileKind(head);
  throw failedPrecondition(
    `"${path}" is not a TensorFlow model${meaning === undefined ? "" : `: it looks like ${meaning}`}. Expected ${EXPECTED}.`,
  );
}

/** Zip archives and protobuf messages have many uses; only their names show that they are models. */
function fitsName(format: ModelFormat, path: string): boolean {
  if (format === "keras") return path.endsWith(".keras");
  return format !== "frozen-graph" || /\.pb$/i.test(path);
}

/** By the field that the converter writes; in older files, by the keys of the topology. */
function formatOfJson(path: string): ModelFormat {
  const model = parseJson(path);
  const { format, modelTopology: topology } = model;
  if (format === "graph-model" || isRecord(topology, "node")) return "tfjs-graph";
  if (format === "layers-model" || isRecord(topology, "model_config") || isRecord(topology, "class_name"))
    return "tfjs-layers";
  throw failedPrecondition(
    `"${path}" is JSON, but not a model of TensorFlow.js: it has no modelTopology. Expected ${EXPECTED}.`,
  );
}

function isRecord(value: unknown, member: string): boolean {
  return typeof value === "object" && value !== null && member in value;
}

function parseJson(path: string): { readonly format?: unknown; readonly modelTopology?: unknown } {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (cause) {
    throw failedPrecondition(`"${path}" is not valid JSON, or is cut short.`, cause);
  }
}
