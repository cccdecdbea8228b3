import { closeSync, fstatSync, openSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { ONNX_TYPES } from "../../drivers/onnx/element-types.ts";
import { ProtobufError, type ProtobufField, ProtobufFile } from "../../drivers/onnx/protobuf-file.ts";
import { failedPrecondition, ServingError } from "../../errors.ts";
import { codecs } from "../../platform/codec-host/codec-pool.ts";
import { defineJob } from "../../platform/codec-host/job.ts";
import { GraphBuilder, type ModelGraph, SAVED_MODEL } from "../../tensor/signature/model-graph.ts";

/** A format of which graphs are drawn. */
interface Drawn {
  readonly ending: RegExp;
  /** Bytes of a file at most; Infinity for a format whose weights are skipped. */
  readonly maxBytes: number;
  readonly read: (path: string) => ModelGraph | Promise<ModelGraph>;
}

const DRAWN: readonly Drawn[] = [
  { ending: /\.onnx$/i, maxBytes: Number.POSITIVE_INFINITY, read: readOnnx },
  { ending: /\.xml$/i, maxBytes: 8_000_000, read: readOpenvino },
  { ending: /\.tflite$/i, maxBytes: 32_000_000, read: readLite },
  { ending: /(?:^|[\\/])saved_model\.pb$/, maxBytes: 32_000_000, read: readSavedModel },
  { ending: /\.pb$/i, maxBytes: 32_000_000, read: readFrozen },
];

/**
 * Reads the graph of an ONNX file, of OpenVINO's IR, of a .tflite file, of a SavedModel's folder or of a frozen graph,
 * in a codec thread. Rejects with `unimplemented` for other formats, and with `failed_precondition` for a file that
 * cannot be read; the messages have no path, and are for clients.
 */
export function readGraph(path: string): Promise<ModelGraph> {
  const saved = join(path, SAVED_MODEL);
  const file = statOf(saved) === undefined ? path : saved;
  return codecs.run(readGraphJob, [file], { costBytes: Math.min(statOf(file)?.size ?? 0, MAX_COST) });
}

/** Bytes of a file that are read at most, and count as the job's cost: weights of any size are skipped. */
const MAX_COST = 32_000_000;

/** Public for codec threads. @public */
export const readGraphJob = defineJob(import.meta.url, "readGraphJob", readFile);

function statOf(path: string) {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

async function readFile(path: string): Promise<ModelGraph> {
  const drawn = DRAWN.find(({ ending }) => ending.test(path));
  if (drawn === undefined) {
    const message =
      "Graphs are drawn of ONNX files, OpenVINO's IR, .tflite files, SavedModels and frozen graphs; this is none of them.";
    throw new ServingError("unimplemented", message);
  }
  try {
    if (statSync(path).size > drawn.maxBytes) throw new TooLarge();
    return await drawn.read(path);
  } catch (cause) {
    throw failedPrecondition(`The model's file cannot be drawn: it is ${whyNot(cause)}.`, cause);
  }
}

/** Thrown for a file that would have to be read as a whole, and is too large for that. */
class TooLarge extends Error {}

function whyNot(cause: unknown): string {
  // Of a text or a list that is longer than any may be.
  if (cause instanceof TooLarge || cause instanceof RangeError) return "too large";
  return cause instanceof ProtobufError || cause instanceof ServingError
    ? "damaged"
    : "not there any more, or not to be read";
}

async function readLite(path: string): Promise<ModelGraph> {
  return (await import("./inspect-tensorflow.ts")).graphOfTflite(path);
}

async function readSavedModel(path: string): Promise<ModelGraph> {
  return (await import("./tensorflow-graph.ts")).graphOfSavedModel(path);
}

async function readFrozen(path: string): Promise<ModelGraph> {
  return (await import("./tensorflow-graph.ts")).graphOfFrozen(path);
}

// Field numbers: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
const GRAPH_OF_MODEL = 7;
const GRAPH = { node: 1, initializer: 5, input: 11, output: 12, value: 13 };
const NODE = { input: 1, output: 2, name: 3, operator: 4, domain: 7 };
const TENSOR = { dims: 1, type: 2, name: 8 };
const VALUE = { name: 1, type: 2 };
const TYPE = { tensor: 1 };
const TENSOR_TYPE = { element: 1, shape: 2 };
const SHAPE = { dim: 1 };
const DIM = { value: 1, name: 2 };

function readOnnx(path: string): ModelGraph {
  const descriptor = openSync(path, "r");
  try {
    return new OnnxGraphReader(new ProtobufFile(descriptor)).read(fstatSync(descriptor).size);
  } finally {
    closeSync(descriptor);
  }
}

class OnnxGraphReader {
  readonly #file: ProtobufFile;
  readonly #graph = new GraphBuilder();

  constructor(file: ProtobufFile) {
    this.#file = file;
  }

  read(size: number): ModelGraph {
    for (const { number, start, end } of this.#file.fields(0, size))
      if (number === GRAPH_OF_MODEL) for (const field of this.#file.fields(start, end)) this.#part(field);
    return this.#graph.build();
  }

  #part(field: ProtobufField): void {
    if (field.number === GRAPH.node) this.#node(field);
    if (field.number === GRAPH.initializer) this.#constant(field);
    if (field.number === GRAPH.input) this.#graph.addInput(this.#value(field));
    if (field.number === GRAPH.output) this.#graph.addOutput(this.#value(field));
    if (field.number === GRAPH.value) this.#value(field);
  }

  #node(node: ProtobufField): void {
    const fields = this.#fields(node);
    const texts = (number: number) =>
      fields.filter((field) => field.number === number).map((field) => this.#text(field));
    const [[domain = ""], [operator = ""], [name = ""]] = [texts(NODE.domain), texts(NODE.operator), texts(NODE.name)];
    const [takes, gives] = [texts(NODE.input), texts(NODE.output)];
    const type = domain === "" || domain === "ai.onnx" ? operator : `${domain}:${operator}`;
    if (type === "Constant") this.#graph.addConstant(gives[0] ?? "", 0);
    else this.#graph.add({ name: name || (gives[0] ?? ""), type, takes, gives });
  }

  /** Its elements may be a field each, of which none is kept. */
  #constant({ start, end }: ProtobufField): void {
    let [name, bits, elements] = ["", 0, 1];
    for (const field of this.#file.fields(start, end)) {
      if (field.number === TENSOR.name) name = this.#text(field);
      if (field.number === TENSOR.type) [, bits = 0] = ONNX_TYPES[field.value] ?? [];
      if (field.number === TENSOR.dims && field.end - field.start > MAX_NAME) throw new TooLarge();
      if (field.number === TENSOR.dims) for (const size of this.#file.integers(field)) elements *= Number(size);
    }
    if (name !== "") this.#graph.addConstant(name, Math.ceil((elements * bits) / 8));
  }

  /** Describes a value, and returns its name. */
  #value(value: ProtobufField): string {
    const name = this.#child(value, VALUE.name);
    const text = name === undefined ? "" : this.#text(name);
    const tensor = this.#child(this.#child(value, VALUE.type), TYPE.tensor);
    if (tensor === undefined) return text;
    const [type = "unknown"] = ONNX_TYPES[this.#child(tensor, TENSOR_TYPE.element)?.value ?? 0] ?? [];
    const shape = this.#child(tensor, TENSOR_TYPE.shape);
    this.#graph.describe(text, type, shape && this.#sizes(shape));
    return text;
  }

  #sizes(shape: ProtobufField): (number | string | undefined)[] {
    const dims = this.#fields(shape).filter(({ number }) => number === SHAPE.dim);
    return dims.map((dim) => {
      const [size, name] = [this.#child(dim, DIM.value), this.#child(dim, DIM.name)];
      return size?.value ?? (name && this.#text(name));
    });
  }

  #child(message: ProtobufField | undefined, number: number): ProtobufField | undefined {
    return message && this.#fields(message).find((field) => field.number === number);
  }

  #fields({ start, end }: ProtobufField): ProtobufField[] {
    const fields: ProtobufField[] = [];
    for (const field of this.#file.fields(start, end)) if (fields.push(field) > MAX_FIELDS) throw new TooLarge();
    return fields;
  }

  #text({ start, end }: ProtobufField): string {
    return this.#file.bytes(start, Math.min(end - start, MAX_NAME)).toString();
  }
}

/** Bytes of a name that are read, and of a tensor's sizes. */
const MAX_NAME = 1000;
/** Fields of a node, or of a value's type: one alone has no such number of inputs. */
const MAX_FIELDS = 100_000;
const TAG =
  /<(\/?)(layer|(?:then_|else_)?(?:body|port_map)|back_edges|output|port|data|edge)\b([^<>]{0,4096}?)(\/?)>|<dim>(-?\d+)<\/dim>/g;
/** Tags around the layers within a loop or branch, and around the ways to them. */
const INNER = /^(?:(?:then_|else_)?(?:body|port_map)|back_edges)$/;
const ATTRIBUTE = /([\w-]+)="([^"]*)"/g;

interface Layer {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly takes: string[];
  bytes: number;
  /** Of the first output; its sizes follow one by one. */
  precision?: string;
  readonly sizes: (number | undefined)[];
}

function readOpenvino(path: string): ModelGraph {
  const reader = new IrGraphReader();
  for (const [, close = "", tag = "", attributes = "", isWhole, size] of readFileSync(path, "utf8").matchAll(TAG)) {
    if (size !== undefined) reader.size(Number(size));
    else if (!INNER.test(tag)) reader.tag(`${close}${tag}`, attributes);
    else if (isWhole === "") reader.inner(close === "" ? 1 : -1);
  }
  return reader.build();
}

/** Reads an IR's tags in their order; what loops and branches have within them is left out. */
class IrGraphReader {
  readonly #layers = new Map<string, Layer>();
  #layer: Layer | undefined;
  /** Loops and branches around a tag. */
  #depth = 0;
  /** Ports of outputs of the layer: 0 = it is before them, 1 = within the first. */
  #port = 0;
  #isOutput = false;

  /** Goes into a loop or branch, or leaves it. */
  inner(step: 1 | -1): void {
    this.#depth += step;
  }

  tag(name: string, text: string): void {
    if (this.#depth > 0) return;
    const attributes = Object.fromEntries(
      [...text.matchAll(ATTRIBUTE)].map(([, key = "", value = ""]) => [key, value]),
    );
    if (name === "layer") this.#begin(attributes);
    if (name === "output" || name === "/output") this.#isOutput = name === "output";
    if (name === "port" && this.#isOutput && ++this.#port === 1 && this.#layer)
      this.#layer.precision = attributes.precision?.toLowerCase() ?? "";
    if (name === "data" && this.#layer) this.#layer.bytes = Number(attributes.size ?? 0);
    if (name === "edge") this.#layers.get(attributes["to-layer"] ?? "")?.takes.push(attributes["from-layer"] ?? "");
  }

  size(size: number): void {
    if (this.#depth === 0 && this.#isOutput && this.#port === 1) this.#layer?.sizes.push(size < 0 ? undefined : size);
  }

  build(): ModelGraph {
    const graph = new GraphBuilder();
    for (const layer of this.#layers.values()) add(graph, layer);
    return graph.build();
  }

  #begin({ id = "", name = "", type = "" }: Readonly<Record<string, string | undefined>>): void {
    this.#layer = { id, name, type, takes: [], bytes: 0, sizes: [] };
    [this.#port, this.#isOutput] = [0, false];
    this.#layers.set(id, this.#layer);
  }
}

function add(graph: GraphBuilder, { id, name, type, takes, bytes, precision, sizes }: Layer): void {
  if (precision !== undefined) graph.describe(id, precision, sizes);
  if (type === "Const") graph.addConstant(id, bytes);
  else if (type === "Result") graph.addOutput(name, takes[0]);
  else if (type === "Parameter") graph.addInput(name, id);
  else graph.add({ name, type, takes, gives: [id] });
}
