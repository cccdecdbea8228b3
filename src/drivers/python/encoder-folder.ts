import { closeSync, existsSync, fstatSync, openSync, readdirSync, readSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { failedPrecondition, reasonText } from "../../errors.ts";
import { readProblem } from "../../platform/text/file-problem.ts";
import { isObject } from "../../tensor/record.ts";

/** Folder of the encoder and its tokenizer in models of older versions of sentence-transformers. */
const MODULE_FOLDER = "0_Transformer";
const PLACES = ["", MODULE_FOLDER];
const WEIGHTS = /^model(?:-\d+-of-\d+)?\.safetensors$/;
/** Pickles, which need allow_pickle. */
const PICKLED = /^pytorch_model(?:-\d+-of-\d+)?\.bin$/;

/** Folders that exporters put graphs into. */
const EXPORTS = ["onnx", "openvino"];
const GRAPH = /\.(?:onnx|ort|xml|pb|pt|pth|pt2|torchscript|jit|tflite|keras|h5)$/i;
/** Weights of transformers for TensorFlow, and what its Trainer writes into a checkpoint to go on from. */
const NO_GRAPH = /^(?:tf_model\.h5|(?:optimizer|scheduler|scaler|rng_state(?:_\d+)?)\.(?:pt|pth))$/;

/** Checks if a file of a folder that transformers wrote is no model, though its ending is one of models. */
export function isBesideWeights(name: string): boolean {
  return NO_GRAPH.test(name);
}

/**
 * Checks by names if a folder has weights of transformers and a tokenizer, and no graph, which runs without them and
 * without Python.
 */
export function isEncoderFolder(path: string): boolean {
  const own = PLACES.map((place) => join(path, place)).find((folder) =>
    ["config.json", "tokenizer.json"].every((name) => existsSync(join(folder, name))),
  );
  if (own === undefined || !namesIn(own).some((name) => WEIGHTS.test(name))) return false;
  const folders = [path, own, ...EXPORTS.map((name) => join(path, name))];
  return !folders.some((folder) => namesIn(folder).some((name) => GRAPH.test(name) && !isBesideWeights(name)));
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** A tensor of a file of weights, by the file's header. */
interface StoredTensor {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly bytes: number;
}

/**
 * The tensors of an encoder's weights; reads the headers of its files alone. Throws `failed_precondition` for one that
 * is damaged, or cut short.
 */
export function readStoredTensors(path: string): readonly StoredTensor[] {
  const folders = PLACES.map((place) => join(path, place));
  const files = folders.flatMap((folder) =>
    namesIn(folder).flatMap((name) => (WEIGHTS.test(name) ? join(folder, name) : [])),
  );
  return files.flatMap((file) => {
    try {
      return tensorsOf(file);
    } catch (cause) {
      throw failedPrecondition(`${file} is damaged or cut short: ${reasonText(cause)}. Download it again.`, cause);
    }
  });
}

/** Bytes of a header at most, as in the original. */
const MOST_HEADER = 100_000_000;
/** The length of the header, an integer; then the header as JSON, and the data: https://hf.co/docs/safetensors */
const LENGTH_BYTES = 8;

function tensorsOf(file: string): readonly StoredTensor[] {
  const opened = openSync(file, "r");
  try {
    const length = Buffer.alloc(LENGTH_BYTES);
    readSync(opened, length, 0, LENGTH_BYTES, 0);
    const { size } = fstatSync(opened);
    const headerBytes = Number(length.readBigUInt64LE());
    if (headerBytes > Math.min(size - LENGTH_BYTES, MOST_HEADER)) throw new Error("its header has no end");
    const header = Buffer.alloc(headerBytes);
    readSync(opened, header, 0, headerBytes, LENGTH_BYTES);
    const tensors = Object.entries(JSON.parse(header.toString()) as object).filter(([name]) => name !== "__metadata__");
    return tensors.map(
      ([
        name,
        {
          dtype,
          shape,
          data_offsets: [start, end],
        },
      ]) => {
        if (LENGTH_BYTES + headerBytes + end > size)
          throw new Error(`it ends before its tensor ${name.slice(0, 100)} does`);
        return { dtype: TYPES[dtype] ?? String(dtype), shape, bytes: end - start };
      },
    );
  } finally {
    closeSync(opened);
  }
}

/** The usual names of types, by those of such files. */
const TYPES: Readonly<Record<string, string>> = {
  ...{ F64: "float64", F32: "float32", F16: "float16", BF16: "bfloat16" },
  ...{ I64: "int64", I32: "int32", I16: "int16", I8: "int8", U8: "uint8", BOOL: "bool" },
};

/** Endings of architectures that are served, which are also those of transformers' classes for them. */
const HEADS = ["ForSequenceClassification", "ForTokenClassification", "Model"] as const;

/** An encoder of transformers, as the module of the driver loads it. */
interface Encoder {
  readonly folder: string;
  readonly head: (typeof HEADS)[number];
  /** True if its weights are pickles alone, which may run code while they load. */
  readonly isPickled: boolean;
}

/**
 * The encoder in a folder; undefined for files, and for folders without weights of transformers. Throws
 * `failed_precondition` where `config.json` cannot be read, or is that of a model which is no encoder.
 */
export async function readEncoder(path: string): Promise<Encoder | undefined> {
  const isOwn = (folder: string) =>
    existsSync(join(folder, "config.json")) && namesIn(folder).some((name) => WEIGHTS.test(name) || PICKLED.test(name));
  const folder = PLACES.map((place) => join(path, place)).find(isOwn);
  if (folder === undefined) return undefined;
  const file = join(folder, "config.json");
  const { architectures, is_encoder_decoder: isWriter } = await readConfig(file);
  const [name = ""] = Array.isArray(architectures) ? architectures.map(String) : [];
  const whole = basename(folder) === MODULE_FOLDER ? dirname(folder) : folder;
  const head = existsSync(join(whole, "modules.json"))
    ? "Model"
    : HEADS.find((ending) => name.endsWith(ending) && !/LMHead|CausalLM/.test(name));
  const isPickled = !namesIn(folder).some((name) => WEIGHTS.test(name));
  if (head !== undefined && isWriter !== true) return { folder: resolve(folder), head, isPickled };
  const found = name === "" ? "no architecture" : name.slice(0, 100);
  throw failedPrecondition(
    `${file} names ${found}${isWriter === true ? ", with an encoder and a decoder" : ""}; expected an encoder: one ending in ${HEADS.join(", ")}, or a modules.json of sentence-transformers. For other tasks add --driver transformers.`,
  );
}

async function readConfig(path: string): Promise<Readonly<Record<string, unknown>>> {
  const text = await readFile(path, "utf8").catch((cause) => {
    throw failedPrecondition(`${path} ${readProblem(cause)}.`, cause);
  });
  try {
    const config: unknown = JSON.parse(text);
    if (isObject(config)) return config;
  } catch (cause) {
    throw failedPrecondition(`${path} is not JSON (it may be cut short); download it again.`, cause);
  }
  throw failedPrecondition(`${path} has no object; expected what save_pretrained wrote.`);
}
