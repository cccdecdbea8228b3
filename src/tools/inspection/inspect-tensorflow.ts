import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isContainer, type LayerConfig, layersOf, withKerasFile } from "../../drivers/tensorflow/keras/keras-file.ts";
import type { ModelSource } from "../../drivers/tensorflow/model-source.ts";
import { readIndex } from "../../drivers/tensorflow/portable/checkpoint.ts";
import { dataTypeName, toDType } from "../../drivers/tensorflow/saved-model/data-type.ts";
import type { GraphDef, NodeDef, TensorProto, TensorShape } from "../../drivers/tensorflow/saved-model/graph-def.ts";
import { loadFrozenGraph, parseSavedModel } from "../../drivers/tensorflow/saved-model/load-saved-model.ts";
import { fromTensorShape } from "../../drivers/tensorflow/saved-model/tensor-proto.ts";
import { parseMessage } from "../../drivers/tensorflow/saved-model/tensorflow-messages.ts";
import { FlatbufferTable } from "../../drivers/tflite-format/flatbuffer-table.ts";
import { readTflite } from "../../drivers/tflite-format/read-tflite.ts";
import { numericLayout } from "../../tensor/dtype.ts";
import { GraphBuilder, type ModelGraph } from "../../tensor/signature/model-graph.ts";
import { countOne, countWeight, type FileFacts, type WeightCount } from "./file-facts.ts";

/** Facts about a SavedModel's folder: the operators of its graphs and functions, its variables and constants. */
export function inspectSavedModel(folder: string): FileFacts {
  const { metaGraphs, savedModelSchemaVersion: version } = parseSavedModel(folder);
  const weights = new Map<string, WeightCount>();
  const operators = new Map<string, number>();
  for (const { graphDef } of metaGraphs) if (graphDef !== undefined) countGraph(graphDef, { operators, weights });
  countVariables(folder, weights);
  const writer = metaGraphs[0]?.metaInfoDef?.tensorflowVersion ?? "";
  const tags = metaGraphs.map(({ metaInfoDef }) => metaInfoDef?.tags.join(",") || "(none)");
  const assets = metaGraphs.flatMap(({ assetFileDef }) => assetFileDef.map(({ filename }) => filename));
  return {
    format: `TensorFlow SavedModel, version ${version}`,
    ...(writer !== "" && { producer: `TensorFlow ${writer}` }),
    operators,
    weights,
    metadata: { tags: tags.join("; "), ...(assets.length > 0 && { assets: [...new Set(assets)].join(", ") }) },
  };
}

/** Facts about a frozen graph's file. */
export function inspectFrozenGraph(path: string): FileFacts {
  const counts = { operators: new Map<string, number>(), weights: new Map<string, WeightCount>() };
  countGraph(loadFrozenGraph(path), counts);
  return { format: "TensorFlow frozen graph", ...counts, metadata: {} };
}

interface Counts {
  readonly operators: Map<string, number>;
  readonly weights: Map<string, WeightCount>;
}

function countGraph({ node, library }: GraphDef, counts: Counts): void {
  const bodies = library?.function.flatMap(({ nodeDef }) => nodeDef) ?? [];
  for (const each of [...node, ...bodies]) countNode(each, counts);
}

function countNode({ op, attr }: NodeDef, { operators, weights }: Counts): void {
  countOne(operators, op);
  const value = op === "Const" && Object.hasOwn(attr, "value") ? attr.value?.value : undefined;
  if (value?.case !== "tensor") return;
  const { dtype, tensorShape, stringVal } = value.value as TensorProto;
  const texts = stringVal.reduce((sum, text) => sum + text.length, 0);
  countWeight(weights, typeName(dtype), sizeOf(dtype, tensorShape, texts));
}

/** Of the checkpoint's index alone. */
function countVariables(folder: string, weights: Map<string, WeightCount>): void {
  const index = join(folder, "variables", "variables.index");
  if (!existsSync(index)) return;
  for (const [key, bytes] of readIndex(index)) {
    // What follows the text in a key names one part of a variable, which has its own entry too.
    if (key === "" || key === "_CHECKPOINTABLE_OBJECT_GRAPH" || key.startsWith("\0")) continue;
    const { dtype, shape, size } = parseMessage("BundleEntryProto", bytes);
    countWeight(weights, typeName(dtype), sizeOf(dtype, shape, Number(size)));
  }
}

function typeName(dataType: number): string {
  return toDType(dataType) ?? dataTypeName(dataType);
}

function sizeOf(dataType: number, shape: TensorShape | undefined, otherBytes: number) {
  const elements = (fromTensorShape(shape) ?? []).reduce((product, size) => product * size, 1);
  const dtype = toDType(dataType);
  const isSized = dtype !== undefined && dtype !== "bytes";
  return { elements, bytes: isSized ? elements * numericLayout(dtype).bytes : otherBytes };
}

/** Facts about a .keras or .h5 file: its layers. */
export function inspectKeras(source: ModelSource): Promise<FileFacts> {
  return withKerasFile(source, async ({ config: { root, major } }) => {
    const operators = new Map<string, number>();
    for (const { class_name: name } of allLayers(root)) countOne(operators, name);
    const name = String((root.config as { name?: unknown }).name ?? "");
    return {
      format: source.format === "h5" ? "Keras HDF5 file" : "Keras archive",
      producer: `Keras ${major}`,
      operators,
      metadata: { class: root.class_name, ...(name !== "" && { name }) },
    };
  });
}

function allLayers(model: LayerConfig): LayerConfig[] {
  return layersOf(model).flatMap((layer) => (isContainer(layer) ? allLayers(layer) : [layer]));
}

/** The parts of a model.json that are looked at. */
interface ModelJson {
  readonly format?: string;
  readonly generatedBy?: string;
  readonly convertedBy?: string;
  readonly modelTopology?: {
    readonly node?: readonly { readonly op: string }[];
    readonly keras_version?: string;
    readonly backend?: string;
    readonly model_config?: LayerJson;
  } & Partial<LayerJson>;
  readonly weightsManifest?: readonly { readonly weights: readonly WeightJson[] }[];
}

interface LayerJson {
  readonly class_name: string;
  readonly config: readonly LayerJson[] | { readonly layers?: readonly LayerJson[] };
}

interface WeightJson {
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly quantization?: { readonly dtype: string };
}

/** Bytes of an element as it is stored. */
const BYTES: Readonly<Record<string, number>> = { bool: 1, uint8: 1, uint16: 2, float16: 2, complex64: 8 };

/** Facts about a model.json of TensorFlow.js; its weights as they are stored. */
export function inspectTfjs(path: string): FileFacts {
  const model = JSON.parse(readFileSync(path, "utf8")) as ModelJson;
  const { modelTopology: topology = {}, weightsManifest = [], generatedBy, convertedBy } = model;
  const root = topology.model_config ?? topology;
  const isGraph = topology.node !== undefined;
  const operators = new Map<string, number>();
  for (const { op } of topology.node ?? []) countOne(operators, op);
  if (!isGraph) for (const layer of jsonLayersOf(root)) countOne(operators, layer.class_name);
  const weights = new Map<string, WeightCount>();
  for (const { shape, dtype, quantization } of weightsManifest.flatMap((group) => group.weights)) {
    const stored = quantization?.dtype ?? dtype;
    const elements = shape.reduce((product, size) => product * size, 1);
    countWeight(weights, stored, { elements, bytes: elements * (BYTES[stored] ?? 4) });
  }
  const keras = topology.keras_version;
  const producer = [generatedBy ?? (keras === undefined ? undefined : `Keras ${keras}`), convertedBy];
  const known = producer
    .map((text) => (/^\d/.test(text ?? "") ? `TensorFlow ${text}` : text))
    .filter((text) => typeof text === "string" && text !== "");
  return {
    format: `TensorFlow.js ${isGraph ? "graph" : "layers"} model`,
    ...(known.length > 0 && { producer: known.join(", converted by ") }),
    operators,
    weights,
    metadata: {},
  };
}

function jsonLayersOf({ config }: Partial<LayerJson>): LayerJson[] {
  const layers = Array.isArray(config) ? config : ((config as { layers?: readonly LayerJson[] })?.layers ?? []);
  return layers.flatMap((layer: LayerJson) => [layer, ...jsonLayersOf(layer)]);
}

// Field numbers: https://github.com/tensorflow/tensorflow/blob/master/tensorflow/compiler/mlir/lite/schema/schema.fbs
const MODEL = { version: 0, codes: 1, subgraphs: 2, description: 3, buffers: 4, metadata: 6 };
const CODE = { deprecated: 0, custom: 1, code: 3 };
const SUBGRAPH = { tensors: 0, inputs: 1, outputs: 2, operators: 3 };
const OPERATOR = { code: 0, inputs: 1, outputs: 2 };
const TENSOR = { shape: 0, type: 1, buffer: 2, name: 3 };
const BUFFER = { data: 0 };
const METADATA = { name: 0, buffer: 1 };
const CUSTOM = 32;
/** Metadata that is a short text. */
const TEXTS = ["min_runtime_version"];
/** Types of TFLite's tensors by number. */
const TYPES = [
  ...["float32", "float16", "int32", "uint8", "int64", "string", "bool", "int16", "complex64", "int8", "float64"],
  ...["complex128", "uint64", "resource", "variant", "uint32", "uint16", "int4", "bfloat16", "int2", "uint4"],
];

/** Facts about a .tflite file; throws `failed_precondition` for a damaged one. */
export function inspectTflite(path: string): FileFacts {
  const bytes = readTflite(path);
  const model = FlatbufferTable.root(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  const buffers = model.tables(MODEL.buffers);
  const subgraphs = model.tables(MODEL.subgraphs);
  const description = model.text(MODEL.description);
  return {
    format: `TensorFlow Lite, version ${model.int(MODEL.version)}`,
    ...(description !== "" && { producer: description }),
    operators: countOperators(subgraphs, model.tables(MODEL.codes).map(operatorName)),
    weights: countWeights(subgraphs, buffers),
    metadata: readMetadata(model, buffers),
  };
}

/** The first graph of a .tflite file, of which others are parts; throws `failed_precondition` for a damaged one. */
export function graphOfTflite(path: string): ModelGraph {
  const bytes = readTflite(path);
  const model = FlatbufferTable.root(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  const [names, buffers] = [model.tables(MODEL.codes).map(operatorName), model.tables(MODEL.buffers)];
  const [main] = model.tables(MODEL.subgraphs);
  const tensors = main?.tables(SUBGRAPH.tensors) ?? [];
  const nameOf = (index = -1) => tensors[index]?.text(TENSOR.name) ?? "";
  const graph = new GraphBuilder();
  for (const [index, tensor] of tensors.entries()) {
    const size = buffers[tensor.int(TENSOR.buffer)]?.count(BUFFER.data) ?? 0;
    if (size > 0) graph.addConstant(String(index), size);
    else graph.describe(String(index), TYPES[tensor.byte(TENSOR.type)] ?? "unknown", tensor.ints(TENSOR.shape));
  }
  for (const index of main?.ints(SUBGRAPH.inputs) ?? []) graph.addInput(nameOf(index), String(index));
  for (const index of main?.ints(SUBGRAPH.outputs) ?? []) graph.addOutput(nameOf(index), String(index));
  for (const operator of main?.tables(SUBGRAPH.operators) ?? []) {
    const [takes, gives] = [operator.ints(OPERATOR.inputs), operator.ints(OPERATOR.outputs)];
    const type = names[operator.int(OPERATOR.code)] ?? "unknown";
    graph.add({ name: nameOf(gives[0]), type, takes: takes.map(String), gives: gives.map(String) });
  }
  return graph.build();
}

function operatorName(code: FlatbufferTable): string {
  const number = Math.max(code.byte(CODE.deprecated), code.int(CODE.code));
  if (number === CUSTOM) return `custom:${code.text(CODE.custom)}`;
  return TFLITE_OPERATORS[number] ?? `operator ${number}`;
}

function countOperators(subgraphs: readonly FlatbufferTable[], names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const operator of subgraphs.flatMap((graph) => graph.tables(SUBGRAPH.operators)))
    countOne(counts, names[operator.int(OPERATOR.code)] ?? "unknown");
  return counts;
}

/** Tensors with bytes in the file; several may share them. */
function countWeights(
  subgraphs: readonly FlatbufferTable[],
  buffers: readonly FlatbufferTable[],
): Map<string, WeightCount> {
  const weights = new Map<string, WeightCount>();
  for (const tensor of subgraphs.flatMap((graph) => graph.tables(SUBGRAPH.tensors))) {
    const bytes = buffers[tensor.int(TENSOR.buffer)]?.count(BUFFER.data) ?? 0;
    if (bytes === 0) continue;
    const elements = tensor.ints(TENSOR.shape).reduce((product, size) => product * size, 1);
    countWeight(weights, TYPES[tensor.byte(TENSOR.type)] ?? "unknown", { elements, bytes });
  }
  return weights;
}

function readMetadata(model: FlatbufferTable, buffers: readonly FlatbufferTable[]): Record<string, string> {
  const entries = model.tables(MODEL.metadata).map((entry) => {
    const name = entry.text(METADATA.name);
    const bytes = buffers[entry.int(METADATA.buffer)]?.bytes(BUFFER.data) ?? new Uint8Array(0);
    const text = Buffer.from(bytes).toString().replace(/\0+$/, "");
    return [name, TEXTS.includes(name) ? text : `${bytes.length} bytes`] as const;
  });
  return Object.fromEntries(entries);
}

// https://github.com/tensorflow/tensorflow/blob/master/tensorflow/compiler/mlir/lite/schema/schema.fbs
const NAMES =
  "ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE EMBEDDING_LOOKUP " +
  "FLOOR FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D LOCAL_RESPONSE_NORMALIZATION LOGISTIC " +
  "LSH_PROJECTION LSTM MAX_POOL_2D MUL RELU RELU_N1_TO_1 RELU6 RESHAPE RESIZE_BILINEAR RNN SOFTMAX " +
  "SPACE_TO_DEPTH SVDF TANH CONCAT_EMBEDDINGS SKIP_GRAM CALL CUSTOM EMBEDDING_LOOKUP_SPARSE PAD " +
  "UNIDIRECTIONAL_SEQUENCE_RNN GATHER BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND TRANSPOSE MEAN SUB DIV SQUEEZE " +
  "UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE BIDIRECTIONAL_SEQUENCE_RNN EXP TOPK_V2 SPLIT LOG_SOFTMAX " +
  "DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST PRELU MAXIMUM ARG_MAX MINIMUM LESS NEG PADV2 GREATER " +
  "GREATER_EQUAL LESS_EQUAL SELECT SLICE SIN TRANSPOSE_CONV SPARSE_TO_DENSE TILE EXPAND_DIMS EQUAL NOT_EQUAL " +
  "LOG SUM SQRT RSQRT SHAPE POW ARG_MIN FAKE_QUANT REDUCE_PROD REDUCE_MAX PACK LOGICAL_OR ONE_HOT " +
  "LOGICAL_AND LOGICAL_NOT UNPACK REDUCE_MIN FLOOR_DIV REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD RANGE " +
  "RESIZE_NEAREST_NEIGHBOR LEAKY_RELU SQUARED_DIFFERENCE MIRROR_PAD ABS SPLIT_V UNIQUE CEIL REVERSE_V2 ADD_N " +
  "GATHER_ND COS WHERE RANK ELU REVERSE_SEQUENCE MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG ROUND HARD_SWISH IF " +
  "WHILE NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM BATCH_MATMUL " +
  "PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE BROADCAST_TO RFFT2D CONV_3D IMAG REAL COMPLEX_ABS " +
  "HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL CONV_3D_TRANSPOSE VAR_HANDLE " +
  "READ_VARIABLE ASSIGN_VARIABLE BROADCAST_ARGS RANDOM_STANDARD_NORMAL BUCKETIZE RANDOM_UNIFORM MULTINOMIAL " +
  "GELU DYNAMIC_UPDATE_SLICE RELU_0_TO_1 UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_SUM " +
  "ATAN2 UNSORTED_SEGMENT_MIN SIGN BITCAST BITWISE_XOR RIGHT_SHIFT STABLEHLO_LOGISTIC STABLEHLO_ADD " +
  "STABLEHLO_DIVIDE STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM STABLEHLO_RESHAPE STABLEHLO_CLAMP " +
  "STABLEHLO_CONCATENATE STABLEHLO_BROADCAST_IN_DIM STABLEHLO_CONVOLUTION STABLEHLO_SLICE " +
  "STABLEHLO_CUSTOM_CALL STABLEHLO_REDUCE STABLEHLO_ABS STABLEHLO_AND STABLEHLO_COSINE STABLEHLO_EXPONENTIAL " +
  "STABLEHLO_FLOOR STABLEHLO_LOG STABLEHLO_MINIMUM STABLEHLO_NEGATE STABLEHLO_OR STABLEHLO_POWER " +
  "STABLEHLO_REMAINDER STABLEHLO_RSQRT STABLEHLO_SELECT STABLEHLO_SUBTRACT STABLEHLO_TANH STABLEHLO_SCATTER " +
  "STABLEHLO_COMPARE STABLEHLO_CONVERT STABLEHLO_DYNAMIC_SLICE STABLEHLO_DYNAMIC_UPDATE_SLICE STABLEHLO_PAD " +
  "STABLEHLO_IOTA STABLEHLO_DOT_GENERAL STABLEHLO_REDUCE_WINDOW STABLEHLO_SORT STABLEHLO_WHILE " +
  "STABLEHLO_GATHER STABLEHLO_TRANSPOSE DILATE STABLEHLO_RNG_BIT_GENERATOR REDUCE_WINDOW STABLEHLO_COMPOSITE " +
  "STABLEHLO_SHIFT_LEFT STABLEHLO_CBRT STABLEHLO_CASE";

/** Names of TFLite's own operators by number. */
const TFLITE_OPERATORS: readonly string[] = NAMES.split(" ");
