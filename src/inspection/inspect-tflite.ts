import { FlatbufferTable } from "../drivers/tflite-format/flatbuffer-table.ts";
import { readTflite } from "../drivers/tflite-format/read-tflite.ts";
import { countOne, countWeight, type FileFacts, type WeightCount } from "./file-facts.ts";
import { TFLITE_OPERATORS } from "./tflite-operators.ts";

// Field numbers: https://github.com/tensorflow/tensorflow/blob/master/tensorflow/compiler/mlir/lite/schema/schema.fbs
const MODEL = { version: 0, codes: 1, subgraphs: 2, description: 3, buffers: 4, metadata: 6 };
const CODE = { deprecated: 0, custom: 1, code: 3 };
const SUBGRAPH = { tensors: 0, operators: 3 };
const TENSOR = { shape: 0, type: 1, buffer: 2 };
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

function operatorName(code: FlatbufferTable): string {
  const number = Math.max(code.byte(CODE.deprecated), code.int(CODE.code));
  if (number === CUSTOM) return `custom:${code.text(CODE.custom)}`;
  return TFLITE_OPERATORS[number] ?? `operator ${number}`;
}

function countOperators(subgraphs: readonly FlatbufferTable[], names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const operator of subgraphs.flatMap((graph) => graph.tables(SUBGRAPH.operators)))
    countOne(counts, names[operator.int(0)] ?? "unknown");
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
