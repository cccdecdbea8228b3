import { accessSync, closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { describeFileKind, readHead } from "../../drivers/file-kind.ts";
import { ONNX_TYPES } from "../../drivers/onnx/element-types.ts";
import { ProtobufError, type ProtobufField, ProtobufFile } from "../../drivers/onnx/protobuf-file.ts";
import { isEncoderFolder, readStoredTensors } from "../../drivers/python/encoder-folder.ts";
import { findModelSource, looksLikeModel } from "../../drivers/tensorflow/model-source.ts";
import { failedPrecondition, reasonText } from "../../errors.ts";
import { readProblem } from "../../platform/text/file-problem.ts";
import { readTextTask, type TextTask } from "../../text/text-task.ts";
import { countOne, countWeight, type FileFacts, type WeightCount } from "./file-facts.ts";

/**
 * Reads what a model's file or folder says of itself, without a runtime. Formats that only their frameworks read give
 * their kind alone. Throws `failed_precondition` for a path that cannot be read, or that is damaged.
 */
export async function inspectFile(path: string): Promise<FileFacts> {
  const facts = await readFacts(path);
  const texts = await readTextTask(path).then(
    (task) => task && textFacts(task),
    (reason) => ({ texts: `none: ${reasonText(reason)}` }),
  );
  return texts === undefined ? facts : { ...facts, metadata: { ...texts, ...facts.metadata } };
}

/** The use of a model of texts, by the files beside it. */
function textFacts({ kind, source, pooling, normalises, dimensions, maxTokens, labels }: TextTask) {
  const way = [pooling.join(" and "), ...(normalises ? ["to a length of 1"] : [])].join(", ");
  return {
    task: `${kind} of texts, by ${source}`,
    ...(pooling.length > 0 && { pooling: way }),
    ...(dimensions !== undefined && { dimensions: String(dimensions) }),
    ...(labels.length > 0 && { labels: labels.join(", ") }),
    ...(maxTokens !== undefined && { "longest text": `${maxTokens} tokens` }),
  };
}

async function readFacts(path: string): Promise<FileFacts> {
  if (/\.onnx$/i.test(path)) return readOnnx(path);
  if (/\.xml$/i.test(path)) return readOpenvino(path);
  if (looksLikeModel(path)) return readTensorflow(path);
  if (isEncoderFolder(path)) return readWeights(path);
  return { format: kindOf(path), metadata: {} };
}

async function readOnnx(path: string): Promise<FileFacts> {
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

// Field numbers: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
const MODEL = {
  irVersion: 1,
  producer: 2,
  producerVersion: 3,
  modelVersion: 5,
  doc: 6,
  graph: 7,
  opset: 8,
  metadata: 14,
};
const FUNCTION = { number: 25, node: 7 };
const OPSET = { domain: 1, version: 2 };
const ENTRY = { key: 1, value: 2 };
const GRAPH = { node: 1, name: 2, initializer: 5 };
const NODE = { operator: 4, attribute: 5, domain: 7 };
const ATTRIBUTE = { tensor: 5, graph: 6, tensors: 10, graphs: 11 };
const TENSOR = { dims: 1, type: 2, text: 6 };
/** Domains of ONNX's own operators. */
const OWN_DOMAINS = ["", "ai.onnx"];
/** Graphs within graphs; a file that goes deeper is made to exhaust the stack. */
const MAX_DEPTH = 32;

interface Counts {
  readonly operators: Map<string, number>;
  readonly weights: Map<string, WeightCount>;
}

/** Facts about a `.onnx` file; weights are skipped, not read. Throws ProtobufError for bytes in another format. */
function inspectOnnx(path: string): FileFacts {
  const descriptor = openSync(path, "r");
  try {
    return new OnnxReader(new ProtobufFile(descriptor)).read(fstatSync(descriptor).size);
  } finally {
    closeSync(descriptor);
  }
}

class OnnxReader {
  readonly #file: ProtobufFile;
  readonly #counts: Counts = { operators: new Map(), weights: new Map() };

  constructor(file: ProtobufFile) {
    this.#file = file;
  }

  read(size: number): FileFacts {
    const model = [...this.#file.fields(0, size)];
    const all = (number: number) => model.filter((field) => field.number === number);
    const textOf = (number: number) => this.#textOf(all(number)[0]);
    for (const graph of all(MODEL.graph)) this.#graph(graph, 0);
    for (const body of all(FUNCTION.number)) this.#nodes(body, FUNCTION.node, 0);
    const version = all(MODEL.irVersion)[0]?.value ?? 0;
    const opsets = all(MODEL.opset).map((field) => this.#opset(field));
    const producer = `${textOf(MODEL.producer)} ${textOf(MODEL.producerVersion)}`.trim();
    const notes = all(MODEL.metadata).map((field) => [this.#child(field, ENTRY.key), this.#child(field, ENTRY.value)]);
    const own = { opset: opsets.join(", "), "model version": String(all(MODEL.modelVersion)[0]?.value ?? 0) };
    const doc = textOf(MODEL.doc);
    return {
      format: `ONNX, IR version ${version}`,
      ...(producer !== "" && { producer }),
      ...this.#counts,
      metadata: { ...own, ...(doc !== "" && { description: doc }), ...Object.fromEntries(notes) },
    };
  }

  #graph(graph: ProtobufField, depth: number): void {
    if (depth > MAX_DEPTH) return;
    for (const field of this.#fields(graph)) {
      if (field.number === GRAPH.node) this.#node(field, depth);
      if (field.number === GRAPH.initializer) this.#tensor(field);
    }
  }

  #nodes(body: ProtobufField, number: number, depth: number): void {
    for (const field of this.#fields(body)) if (field.number === number) this.#node(field, depth);
  }

  #node(node: ProtobufField, depth: number): void {
    const domain = this.#child(node, NODE.domain);
    const operator = this.#child(node, NODE.operator);
    countOne(this.#counts.operators, OWN_DOMAINS.includes(domain) ? operator : `${domain}:${operator}`);
    for (const attribute of this.#fields(node)) {
      if (attribute.number !== NODE.attribute) continue;
      for (const field of this.#fields(attribute)) {
        if (field.wireType !== 2) continue;
        if (field.number === ATTRIBUTE.tensor || field.number === ATTRIBUTE.tensors) this.#tensor(field);
        if (field.number === ATTRIBUTE.graph || field.number === ATTRIBUTE.graphs) this.#graph(field, depth + 1);
      }
    }
  }

  #tensor(tensor: ProtobufField): void {
    const fields = [...this.#fields(tensor)];
    const dims = fields.filter(({ number }) => number === TENSOR.dims).flatMap((field) => this.#file.integers(field));
    const [type, bits] = ONNX_TYPES[fields.find(({ number }) => number === TENSOR.type)?.value ?? 0] ?? ["unknown", 0];
    const elements = dims.reduce((product, size) => product * Number(size), 1);
    const texts = fields.filter(({ number }) => number === TENSOR.text);
    const bytes = texts.reduce((sum, { start, end }) => sum + end - start, Math.ceil((elements * bits) / 8));
    countWeight(this.#counts.weights, type, { elements, bytes });
  }

  #opset(field: ProtobufField): string {
    const version = [...this.#fields(field)].find(({ number }) => number === OPSET.version)?.value ?? 0;
    return `${this.#child(field, OPSET.domain) || "ai.onnx"} ${version}`;
  }

  #child(message: ProtobufField, number: number): string {
    return this.#textOf([...this.#fields(message)].find((field) => field.number === number));
  }

  #textOf(field: ProtobufField | undefined): string {
    return field === undefined ? "" : this.#file.text(field);
  }

  #fields({ start, end }: ProtobufField): Generator<ProtobufField> {
    return this.#file.fields(start, end);
  }
}

async function readTensorflow(path: string): Promise<FileFacts> {
  const source = findModelSource(path);
  const { inspectFrozenGraph, inspectKeras, inspectSavedModel, inspectTfjs, inspectTflite } = await import(
    "./inspect-tensorflow.ts"
  );
  switch (source.format) {
    case "saved-model":
      return inspectSavedModel(source.path);
    case "frozen-graph":
      return inspectFrozenGraph(source.path);
    case "tfjs-graph":
    case "tfjs-layers":
      return inspectTfjs(source.path);
    case "tflite":
      return inspectTflite(source.path);
    default:
      return inspectKeras(source);
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

/** Facts about weights of transformers, which have no operators: those are code of the library. */
function readWeights(path: string): FileFacts {
  const weights = new Map<string, WeightCount>();
  for (const { dtype, shape, bytes } of readStoredTensors(path)) {
    const elements = shape.reduce((product, size) => product * size, 1);
    countWeight(weights, dtype, { elements, bytes });
  }
  return { format: "weights of transformers (safetensors)", weights, metadata: {} };
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
