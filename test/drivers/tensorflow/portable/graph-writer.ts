import { readFileSync, writeFileSync } from "node:fs";
import {
  createFileRegistry,
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonValue,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { type DType, numericLayout } from "../../../../src/tensor/dtype.ts";
import { type Tensor, toBytes } from "../../../../src/tensor/tensor.ts";

/** TensorFlow's names of the types. */
const TYPE_NAMES = {
  float32: "DT_FLOAT",
  float64: "DT_DOUBLE",
  int32: "DT_INT32",
  int64: "DT_INT64",
  uint8: "DT_UINT8",
  int8: "DT_INT8",
  int16: "DT_INT16",
  uint16: "DT_UINT16",
  uint32: "DT_UINT32",
  uint64: "DT_UINT64",
  float16: "DT_HALF",
  bfloat16: "DT_BFLOAT16",
  bool: "DT_BOOL",
  bytes: "DT_STRING",
  complex64: "DT_COMPLEX64",
  complex128: "DT_COMPLEX128",
} as const satisfies Record<DType, string>;

/** A node in protobuf's JSON form. */
export interface NodeJson {
  readonly name: string;
  readonly op: string;
  readonly input?: readonly string[];
  readonly attr?: Readonly<Record<string, JsonValue>>;
}

const descriptors = readFileSync("proto/tensorflow-core.binpb");
const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, descriptors));
const GRAPH = registry.getMessage("tensorflow.GraphDef") as DescMessage;
const SAVED_MODEL = registry.getMessage("tensorflow.SavedModel") as DescMessage;

/** The parts of a SavedModel that tests change, in protobuf's JSON form. */
interface MetaGraphJson {
  readonly graphDef: { readonly node: NodeJson[] };
  readonly assetFileDef: [{ filename: string }];
}

/** Changes the first graph of a SavedModel's file. */
export function editSavedModel(file: string, edit: (metaGraph: MetaGraphJson) => void): void {
  const json = toJson(SAVED_MODEL, fromBinary(SAVED_MODEL, readFileSync(file)), { registry });
  edit((json as unknown as { readonly metaGraphs: [MetaGraphJson] }).metaGraphs[0]);
  writeFileSync(file, toBinary(SAVED_MODEL, fromJson(SAVED_MODEL, json, { registry })));
}

/** A graph's file; functions are in protobuf's JSON form. */
export function writeGraph(nodes: readonly NodeJson[], functions: readonly JsonValue[] = []): Uint8Array {
  const library = { function: functions as JsonValue };
  const json = { node: nodes as unknown as JsonValue, versions: { producer: 2000 }, library };
  return toBinary(GRAPH, fromJson(GRAPH, json, { registry }));
}

/** A constant's node. */
export function constant(name: string, tensor: Tensor): NodeJson {
  return { name, op: "Const", attr: { dtype: type(tensor.dtype), value: { tensor: tensorJson(tensor) } } };
}

/** A node for what a request gives. */
export function placeholder(name: string, { dtype, shape }: Tensor): NodeJson {
  return { name, op: "Placeholder", attr: { dtype: type(dtype), shape: { shape: shapeJson(shape) } } };
}

/** A type as an attribute. */
export function type(dtype: DType): JsonValue {
  return { type: TYPE_NAMES[dtype] };
}

function tensorJson(tensor: Tensor): JsonValue {
  const common = { dtype: TYPE_NAMES[tensor.dtype], tensorShape: shapeJson(tensor.shape) };
  if (tensor.dtype === "bytes") return { ...common, stringVal: tensor.data.map(base64) };
  return { ...common, tensorContent: base64(toBytes(tensor.data)) };
}

function shapeJson(shape: readonly number[]): JsonValue {
  return { dim: shape.map((size) => ({ size: String(size) })) };
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}

/** A tensor of plain numbers. */
export function tensorOf(dtype: DType, shape: readonly number[], values: readonly (number | string)[]): Tensor {
  if (dtype === "bytes") return { dtype, shape, data: values.map((value) => Buffer.from(String(value), "latin1")) };
  const data = new (numericLayout(dtype).array)(values.length);
  const isWide = data instanceof BigInt64Array || data instanceof BigUint64Array;
  for (const [index, value] of values.entries()) data[index] = (isWide ? BigInt(value) : Number(value)) as never;
  return { dtype, shape, data } as Tensor;
}
