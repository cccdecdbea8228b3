import { closeSync, fstatSync, openSync, readdirSync } from "node:fs";
import { isAbsolute } from "node:path";
import { failedPrecondition, type ServingError } from "../../errors.ts";
import { readProblem } from "../../platform/text/file-problem.ts";
import { createRecord } from "../../tensor/record.ts";
import { createTensors, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import { describeFileKind, folderContents } from "../file-kind.ts";
import { hasBoundedRuns } from "./bounded-runs.ts";
import { readInitializer } from "./element-types.ts";
import { ProtobufError, type ProtobufField, ProtobufFile } from "./protobuf-file.ts";
import { readZipMaps } from "./zip-map.ts";

/** Declarations of a model file; read without its weights. */
export interface ModelFile {
  readonly inputs: readonly DeclaredValue[];
  readonly outputs: readonly DeclaredValue[];
  /** Names of the constants; an input with such a name has a value in the model. */
  readonly initializers: ReadonlySet<string>;
  /**
   * The values of inputs that requests may give in place of those in the model. None if these inputs are many or
   * large: they are weights, which old formats and exporters list as inputs.
   */
  readonly defaults: Tensors;
  /** The exporter's notes about the model, such as its labels. */
  readonly metadata: Readonly<Record<string, string>>;
  /** True if the duration of a run depends on the shapes of its inputs alone. */
  readonly hasBoundedRuns: boolean;
}

/** One input or output as the file declares it. */
export interface DeclaredValue {
  readonly name: string;
  /** Unknown if the file leaves the type to be inferred. */
  readonly kind:
    | "tensor"
    | "sequence"
    | "sequence of maps"
    | "map"
    | "optional"
    | "sparse tensor"
    | "opaque value"
    | "unknown";
  /** Number of `TensorProto.DataType` for a tensor of a declared type, else 0. */
  readonly elementType: number;
  /** Names of the classes of an output that is maps of their scores. */
  readonly labels?: readonly string[];
  /** True if the rank is declared; ONNX Runtime does not distinguish a scalar from an unknown rank. */
  readonly hasShape: boolean;
}

/** The first byte of every ONNX model whose exporter writes the fields in order. */
const FIRST_FIELD = 8;
/** Number of bytes that suffice to recognise a kind of file. */
const HEAD_BYTES = 512;

// Field numbers: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
const MODEL = { version: 1, graph: 7, metadata: 14 };
/** The first version of the format in which an initializer need not be an input. */
const OVERRIDABLE_VERSION = 4;
/** Most inputs with values that are offered, and bytes of each. */
const MAX_DEFAULTS = 16;
const MAX_DEFAULT_BYTES = 64 * 1024;
const ENTRY = { key: 1, value: 2 };
const GRAPH = { initializer: 5, input: 11, output: 12 };
const INITIALIZER = { name: 8 };
const VALUE = { name: 1, type: 2 };
const TENSOR = { elementType: 1, shape: 2 };
const SEQUENCE = { elementType: 1 };
const MAP = 5;
const MAPS = "sequence of maps";
const KINDS: Readonly<Record<number, DeclaredValue["kind"]>> = {
  1: "tensor",
  4: "sequence",
  [MAP]: "map",
  7: "opaque value",
  8: "sparse tensor",
  9: "optional",
};

/**
 * Reads the declarations of a `.onnx` file; undefined for ONNX Runtime's own `.ort` format.
 * Throws `failed_precondition` for a path without a model, with the kind of file that was found.
 */
export function readModelFile(path: string): ModelFile | undefined {
  const descriptor = openFile(path);
  try {
    return readOpenFile(path, descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function openFile(path: string): number {
  try {
    return openSync(path, "r");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const missing = code === "ENOENT" || code === "ENOTDIR";
    throw failedPrecondition(
      missing
        ? noModel(path)
        : `The model file "${path}" ${readProblem(error)}; expected one that the server may read.`,
      error,
    );
  }
}

function noModel(path: string): string {
  const hint = isAbsolute(path) ? "" : "; the path counts from the folder in which the server was started";
  return `No model file at "${path}"; expected a .onnx or .ort file there${hint}.`;
}

function readOpenFile(path: string, descriptor: number): ModelFile | undefined {
  const stat = fstatSync(descriptor);
  if (stat.isDirectory()) throw failedPrecondition(`"${path}" is a folder; expected a .onnx file.`, modelsIn(path));
  if (stat.size === 0) throw failedPrecondition(`The model file "${path}" is empty; export or download it again.`);
  const file = new ProtobufFile(descriptor);
  const head = file.bytes(0, HEAD_BYTES);
  if (head.toString("latin1", 4, 8) === "ORTM") return undefined;
  try {
    return readModel(file, stat.size);
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error;
    throw notAModel(path, stat.size, head, error);
  }
}

function modelsIn(folder: string): Error | undefined {
  return folderContents(
    readdirSync(folder)
      .filter((name) => name.endsWith(".onnx"))
      .sort(),
  );
}

function readModel(file: ProtobufFile, size: number): ModelFile {
  let graph: ReturnType<typeof readGraph> | undefined;
  const metadata = createRecord<string>();
  let version = 0;
  for (const field of file.fields(0, size)) {
    if (field.number === MODEL.version) version = field.value;
    if (field.wireType !== 2) continue;
    if (field.number === MODEL.graph) graph ??= readGraph(file, field);
    if (field.number === MODEL.metadata)
      metadata[readName(file, field, ENTRY.key)] = readName(file, field, ENTRY.value);
  }
  if (graph === undefined) throw new ProtobufError("The message has no graph.");
  const { places, ...declared } = graph;
  const defaults = version < OVERRIDABLE_VERSION ? createTensors() : readDefaults(file, places, declared);
  // Values that clients choose may say how often a loop runs.
  const isBounded = Object.keys(defaults).length === 0 && hasBoundedRuns(file, size);
  return { ...declared, defaults, metadata, hasBoundedRuns: isBounded };
}

type Places = ReadonlyMap<string, ProtobufField>;

/** The runtime itself tells of a damaged one. */
function tryReadInitializer(proto: Uint8Array): Tensor | undefined {
  try {
    return readInitializer(proto);
  } catch {
    return undefined;
  }
}

function readDefaults(file: ProtobufFile, places: Places, { inputs }: Pick<ModelFile, "inputs">): Tensors {
  const found = inputs.flatMap(({ name }) =>
    places.has(name) ? [[name, places.get(name) as ProtobufField] as const] : [],
  );
  const sizeOf = ({ start, end }: ProtobufField) => end - start;
  if (found.length > MAX_DEFAULTS || found.some(([, place]) => sizeOf(place) > MAX_DEFAULT_BYTES))
    return createTensors();
  const values = found.flatMap(([name, place]) => {
    const value = tryReadInitializer(file.bytes(place.start, sizeOf(place)));
    return value === undefined ? [] : [[name, value] as const];
  });
  return createTensors(values);
}

interface Graph extends Pick<ModelFile, "inputs" | "outputs" | "initializers"> {
  /** The initializers by their names. */
  readonly places: Places;
}

function readGraph(file: ProtobufFile, graph: ProtobufField): Graph {
  const inputs: DeclaredValue[] = [];
  const outputs: DeclaredValue[] = [];
  const places = new Map<string, ProtobufField>();
  for (const field of file.fields(graph.start, graph.end)) {
    if (field.number === GRAPH.input) inputs.push(readValue(file, field));
    if (field.number === GRAPH.output) outputs.push(readValue(file, field));
    if (field.number === GRAPH.initializer) places.set(readName(file, field, INITIALIZER.name), field);
  }
  return { inputs, outputs: withLabels(outputs, file, graph), initializers: new Set(places.keys()), places };
}

/** Few models have such outputs, for which all nodes are read. */
function withLabels(outputs: DeclaredValue[], file: ProtobufFile, graph: ProtobufField): readonly DeclaredValue[] {
  if (!outputs.some(({ kind }) => kind === MAPS)) return outputs;
  const maps = readZipMaps(file, graph);
  return outputs.map((output) => {
    const labels = maps.get(output.name);
    return labels === undefined ? output : { ...output, labels };
  });
}

function readValue(file: ProtobufFile, value: ProtobufField): DeclaredValue {
  const type = findField(file, value, VALUE.type);
  return { name: readName(file, value, VALUE.name), ...readType(file, type) };
}

function readName(file: ProtobufFile, message: ProtobufField, number: number): string {
  const name = findField(file, message, number);
  return name === undefined ? "" : file.text(name);
}

function findField(file: ProtobufFile, message: ProtobufField, number: number): ProtobufField | undefined {
  for (const field of file.fields(message.start, message.end)) if (field.number === number) return field;
  return undefined;
}

function readType(file: ProtobufFile, type: ProtobufField | undefined): Omit<DeclaredValue, "name"> {
  const choice = type && [...file.fields(type.start, type.end)].find((field) => field.number in KINDS);
  const kind = KINDS[choice?.number ?? 0] ?? "unknown";
  if (choice !== undefined && kind === "sequence" && holdsMaps(file, choice))
    return { kind: MAPS, elementType: 0, hasShape: false };
  if (choice === undefined || kind !== "tensor") return { kind, elementType: 0, hasShape: false };
  return {
    kind,
    elementType: findField(file, choice, TENSOR.elementType)?.value ?? 0,
    hasShape: findField(file, choice, TENSOR.shape) !== undefined,
  };
}

function holdsMaps(file: ProtobufFile, sequence: ProtobufField): boolean {
  const element = findField(file, sequence, SEQUENCE.elementType);
  return element !== undefined && findField(file, element, MAP) !== undefined;
}

function notAModel(path: string, size: number, head: Buffer, cause: ProtobufError): ServingError {
  const { overlong } = cause;
  if (overlong?.number === MODEL.graph && overlong.end > size) {
    return failedPrecondition(
      `The model file "${path}" is cut short: it has ${size} bytes of at least ${overlong.end}; export or download it again.`,
      cause,
    );
  }
  // A SavedModel and an ONNX model without a graph begin alike.
  const kind = head[0] === FIRST_FIELD ? undefined : describeFileKind(head.toString("latin1"));
  const what = kind === undefined ? "; expected the file that an export to ONNX writes" : `: it looks like ${kind}`;
  return failedPrecondition(`"${path}" is not an ONNX model${what}.`, cause);
}
