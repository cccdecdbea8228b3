import { closeSync, existsSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, extname, join, relative } from "node:path";
import { reasonText } from "../errors.ts";
import { meantText, nearest } from "../platform/text/nearest.ts";

/** Bytes at a place of a file, and what it then is. */
type Signature = readonly [offset: number, bytes: string, meaning: string];
/** The beginning of a text, and what it then is. */
type Text = readonly [start: RegExp, meaning: string];

const ZIP = "PK\x03\x04";
/** Place of the first name in a zip archive. */
const ZIP_NAME = 30;

/** Files that are found in the place of a model, of any format. */
const NO_MODELS: readonly Text[] = [
  [/^version https:\/\/git-lfs/, 'a Git LFS pointer; run "git lfs pull" to get the model itself'],
  [/^\s*<(!doctype )?html/i, "a web page; the download probably failed"],
  [/^(Salted__|-----BEGIN PGP MESSAGE|age-encryption\.org)/, "an encrypted file; decrypt it"],
];

const SIGNATURES: readonly Signature[] = [
  [0, "\x89HDF", "an HDF5 file, as Keras (.h5) writes; its driver is tensorflow"],
  [0, "\x80\x02", "a Python pickle, as scikit-learn and PyTorch write; their drivers are sklearn and pytorch"],
  [0, "\x80\x03", "a Python pickle, as scikit-learn writes; its driver is sklearn"],
  [0, "\x80\x04", "a Python pickle, as scikit-learn writes; its driver is sklearn"],
  [0, "\x80\x05", "a Python pickle, as scikit-learn writes; its driver is sklearn"],
  [4, "TFL3", "a TensorFlow Lite model; its driver is tensorflow"],
  [4, "ORTM", "a model of ONNX Runtime's ORT format; its driver is onnx"],
  [8, '{"', "a safetensors file: weights without a model; of transformers' models give the folder"],
  [0, "GGUF", "a GGUF model, which no driver runs"],
  [0, "ftrt", "an engine of TensorRT; serve the ONNX model that it was built from"],
  [0, "CBM1", "a CatBoost model; its driver is catboost"],
  [0, "{L", "an XGBoost model; its driver is xgboost"],
  [0, "binf", "an XGBoost model; its driver is xgboost"],
  [0, "\x93NUMPY", "an array of numpy; expected a model"],
  [0, "\x1f\x8b", "gzip; unpack it"],
  [0, "BZh", "bzip2; unpack it"],
  [0, "\xfd7zXZ", "xz; unpack it"],
  [0, "\x28\xb5\x2f\xfd", "zstd; unpack it"],
  [0, "7z\xbc\xaf", "a 7z archive; unpack it"],
  [257, "ustar", "a tar archive; unpack it"],
  [0, "\x08", "an ONNX model, or a SavedModel's saved_model.pb under another name"],
];

/** Zip archives by the first name in them. */
const ARCHIVES: readonly Text[] = [
  [
    /^[^/]*\/(data\.pkl|constants\.pkl|version|byteorder|data\/|code\/|archive_format)/,
    "a PyTorch file; its driver is pytorch",
  ],
  [/^(metadata|config)\.json/, "a Keras file; its driver is tensorflow"],
  [/^[^/]*\.npy/, "arrays of numpy; expected a model"],
  [/^/, "a zip archive; unpack it"],
];

const TEXTS: readonly Text[] = [
  [/^\s*\{\s*"learner"/, "an XGBoost model; its driver is xgboost"],
  [
    /^\s*\{[\s\S]*("format"\s*:\s*"(graph|layers)-model"|"modelTopology"\s*:)/,
    "a TensorFlow.js model; its driver is tensorflow",
  ],
  [/^tree\r?\n/, "a LightGBM model; its driver is lightgbm"],
  [/^\s*<[\s\S]*<net /, "an OpenVINO model; its driver is openvino"],
  [/^\s*<[\s\S]*<PMML/, "a PMML model; its driver is pmml"],
  [/^\s*<\?xml/, "XML; expected a model"],
  [/^node \{/, "a graph in protobuf's text format; write it with as_text=False"],
  [/^[\s\x20-\x7e]+$/, "plain text; expected a model"],
];

/**
 * The kind of a file by its first bytes, one character each, as a text that follows
 * "it looks like"; undefined for an unknown kind.
 */
export function describeFileKind(head: string): string | undefined {
  const noModel = describeNoModel(head);
  if (noModel !== undefined) return noModel;
  if (head.startsWith(ZIP)) return find(ARCHIVES, head.slice(ZIP_NAME));
  return SIGNATURES.find(([offset, bytes]) => head.startsWith(bytes, offset))?.[2] ?? find(TEXTS, head);
}

/** The same for what no framework reads, whatever it is called. */
export function describeNoModel(head: string): string | undefined {
  return find(NO_MODELS, head);
}

function find(texts: readonly Text[], head: string): string | undefined {
  return texts.find(([start]) => start.test(head))?.[1];
}

/** Number of bytes that suffice to recognise a kind of file. */
const HEAD_BYTES = 512;

/**
 * The first bytes of a file, one character each; empty for a folder, and for what
 * cannot be read: a driver then says why.
 */
export function readHead(path: string, length = HEAD_BYTES): string {
  try {
    const file = openSync(path, "r");
    try {
      const head = Buffer.alloc(length);
      return head.toString("latin1", 0, readSync(file, head, 0, length, 0));
    } finally {
      closeSync(file);
    }
  } catch {
    return "";
  }
}

/** Entries of a folder that are looked at. */
const MOST_ENTRIES = 200;
/** Pointers are shorter, by the format's definition. */
const POINTER_BYTES = 1024;

/**
 * The Git LFS pointers among a model's files, by their names: in its folder and the folders there, or those beside its
 * file that an error names.
 */
export function lfsPointers(path: string, error: string): string[] {
  try {
    if (!statSync(path).isDirectory())
      return entriesOf(dirname(path))
        .map((file) => basename(file))
        .filter((name) => error.includes(name) && isPointer(join(dirname(path), name)));
    const files = [...entriesOf(path), ...foldersIn(path).flatMap(entriesOf)];
    return files.filter(isPointer).map((file) => relative(path, file));
  } catch {
    // A path that cannot be read has its own error.
    return [];
  }
}

function entriesOf(folder: string): string[] {
  const names = readdirSync(folder).sort().slice(0, MOST_ENTRIES);
  return names.map((name) => join(folder, name));
}

function foldersIn(folder: string): string[] {
  return entriesOf(folder).filter((path) => statSync(path, { throwIfNoEntry: false })?.isDirectory());
}

function isPointer(path: string): boolean {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat?.isFile() === true && stat.size < POINTER_BYTES && /^version https:\/\/git-lfs/.test(readHead(path));
}

/** Files of formats that no driver runs, or that are parts of a model, by their names. */
const HINTS: readonly (readonly [name: RegExp, meaning: string])[] = [
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
  [
    /^config\.json$/,
    "a model of Hugging Face: add --driver transformers; embeddings, and encoders on the OpenAI routes, need model.safetensors and tokenizer.json in the folder, or its graph (optimum-cli export onnx --task feature-extraction --model FOLDER FOLDER/onnx)",
  ],
  [/^com\.apple\.CoreML$|\.ml(model|package)$/i, HINTS[0]![1]],
  [/^checkpoint$|\.index$/, HINTS.at(-1)![1]],
  [/weights_manifest\.json$/, "weights of TensorFlow.js without their model.json"],
];

/**
 * The next step for a path that no driver recognises by its name, as a sentence: the file that is the model, the driver
 * of what it looks like, or that there is none. Empty if nothing is known of it.
 */
export function pathHint(path: string): string {
  const meaning = isFolder(path) ? inFolder(path) : (weightsOf(path) ?? ofFile(path));
  return meaning === undefined ? "" : ` It looks like ${meaning}.`;
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function inFolder(path: string): string | undefined {
  const byName = meaningOf(HINTS, path);
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
  return describeNoModel(head) ?? meaningOf(HINTS, path) ?? describeFileKind(head);
}

function meaningOf(table: typeof HINTS, path: string): string | undefined {
  return table.find(([pattern]) => pattern.test(path))?.[1];
}

/** Names in a message. */
const MAX_NAMED = 5;
const HOLDS = "It holds ";

/**
 * Names in a folder without a model, as the cause of an error about it: clients do not see the names of other files,
 * the log and {@link meantInError} have them. Undefined for no names.
 */
export function folderContents(names: readonly string[], advice = ""): Error | undefined {
  if (names.length === 0) return undefined;
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : "";
  return new Error(`${HOLDS}${names.slice(0, MAX_NAMED).join(", ")}${more}${advice}.`);
}

/**
 * {@link meantFile} for an error that is due to the file that it names, and does not say so yet, or the
 * {@link folderContents} that are its cause. It is for the one who started the program.
 */
export function meantInError(error: unknown): string {
  if (!(error instanceof Error)) return "";
  const text = reasonText(error.cause);
  if (text.startsWith(HOLDS)) return ` ${text}`;
  const path = missingPath(error.cause, text);
  return path !== "" && error.message.includes(path) && !error.message.includes("Did you mean") ? meantFile(path) : "";
}

/** The path at which the file system has nothing. Of an error of another thread there is the text alone. */
function missingPath(cause: unknown, text: string): string {
  const { code, path } = (cause ?? {}) as { readonly code?: unknown; readonly path?: unknown };
  if (typeof path === "string") return code === "ENOENT" || code === "ENOTDIR" ? path : "";
  return /^(?:ENOENT|ENOTDIR): [^']*'(.+)'$/s.exec(text)?.[1] ?? "";
}

/**
 * ` Did you mean "x"?` for a path at which there is nothing: the same with slashes, or with the folder that a shell
 * writes for ~, else the file or folder beside it whose name is nearest; nothing where there is none of these.
 */
export function meantFile(path: string): string {
  if (existsSync(path)) return "";
  const plain = path.replaceAll("\\", "/").replace(/^~(?=\/)/, homedir());
  if (plain !== path && existsSync(plain)) return meantText(plain);
  try {
    const near = nearest(
      basename(plain),
      // A link that leads nowhere is itself there.
      readdirSync(dirname(plain)).filter((name) => name !== basename(plain)),
    );
    return meantText(near && join(dirname(plain), near));
  } catch {
    return "";
  }
}
