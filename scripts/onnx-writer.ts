/** Element types by numpy's names (`string` beside them), with the numbers of `TensorProto.DataType`. */
const ELEMENT_TYPES = {
  float32: 1,
  uint8: 2,
  int8: 3,
  uint16: 4,
  int16: 5,
  int32: 6,
  int64: 7,
  string: 8,
  bool: 9,
  float16: 10,
  float64: 11,
  uint32: 12,
  uint64: 13,
  complex64: 14,
  complex128: 15,
  bfloat16: 16,
  float8e4m3fn: 17,
  uint4: 21,
} as const;

/** An element type's name. */
export type ElementType = keyof typeof ELEMENT_TYPES;

/** A whole model file. */
export interface OnnxModel {
  /** Version of the default operator set. */
  readonly opset: number;
  /** Versions of further operator sets, such as `ai.onnx.ml`. */
  readonly domains?: Readonly<Record<string, number>>;
  /** Default 8. */
  readonly irVersion?: number;
  readonly graph: OnnxGraph;
}

/** The model's graph, or one that an attribute holds (the body of a Loop). */
export interface OnnxGraph {
  readonly name: string;
  readonly inputs: readonly ValueInfo[];
  readonly outputs: readonly ValueInfo[];
  readonly initializers?: readonly Initializer[];
  /** In the order in which they can run. */
  readonly nodes: readonly OnnxNode[];
}

/** One named input or output. */
export interface ValueInfo {
  readonly name: string;
  /** Absent = inferred by the runtime that loads the model. */
  readonly type?: ValueType;
}

/** Absent shape = any rank. A text is a symbolic dimension, an empty text one of unknown size and no name. */
export type ValueType =
  | { readonly elemType: ElementType; readonly shape?: readonly (number | string)[] }
  | { readonly sequence: ValueType }
  | { readonly map: { readonly key: ElementType; readonly value: ValueType } }
  | { readonly optional: ValueType };

/** A constant tensor. 16-bit floats are given as their bit patterns, bools as bytes. */
export interface Initializer {
  readonly name: string;
  readonly dtype: ElementType;
  readonly shape: readonly number[];
  /** Left out when `external` says where the bytes are. */
  readonly data?: ArrayBufferView | readonly string[];
  /** Bytes in another file; its path is relative to the model's folder. */
  readonly external?: { readonly file: string; readonly offset: number; readonly length: number };
}

/** One operator. An empty input name leaves an optional input out. */
export interface OnnxNode {
  readonly op: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly name?: string;
  readonly domain?: string;
  readonly attributes?: Readonly<Record<string, Attribute>>;
}

/** A plain number or bigint is an integer; `float` and `floats` mark the others. */
export type Attribute =
  | number
  | bigint
  | string
  | readonly (number | bigint)[]
  | readonly string[]
  | { readonly float: number }
  | { readonly floats: readonly number[] }
  | { readonly tensor: Initializer }
  | { readonly graph: OnnxGraph };

/**
 * The bytes of a `.onnx` file: a protobuf message by https://github.com/onnx/onnx/blob/main/onnx/onnx.proto. The same
 * model gives the same bytes.
 */
export function encodeModel(model: OnnxModel): Uint8Array {
  const domains = Object.entries(model.domains ?? {});
  return message(
    varint(1, model.irVersion ?? 8),
    text(2, "kserving"),
    bytes(7, encodeGraph(model.graph)),
    ...[["", model.opset] as const, ...domains].map(([domain, version]) =>
      bytes(8, message(text(1, domain), varint(2, version))),
    ),
  );
}

function encodeGraph(graph: OnnxGraph): Uint8Array {
  return message(
    ...graph.nodes.map((node) => bytes(1, encodeNode(node))),
    text(2, graph.name),
    ...(graph.initializers ?? []).map((initializer) => bytes(5, encodeTensor(initializer))),
    ...graph.inputs.map((input) => bytes(11, encodeValueInfo(input))),
    ...graph.outputs.map((output) => bytes(12, encodeValueInfo(output))),
  );
}

function encodeNode(node: OnnxNode): Uint8Array {
  return message(
    ...node.inputs.map((input) => text(1, input)),
    ...node.outputs.map((output) => text(2, output)),
    text(3, node.name ?? ""),
    text(4, node.op),
    ...Object.entries(node.attributes ?? {}).map(([name, value]) =>
      bytes(5, message(text(1, name), ...attributeFields(value))),
    ),
    text(7, node.domain ?? ""),
  );
}

/** The value, and `AttributeProto.type` in field 20. */
function attributeFields(value: Attribute): Uint8Array[] {
  if (typeof value === "number" || typeof value === "bigint") return [varint(3, value), varint(20, 2)];
  if (typeof value === "string") return [text(4, value), varint(20, 3)];
  if (isList(value)) return listFields(value);
  if ("float" in value) return [float(2, value.float), varint(20, 1)];
  if ("floats" in value) return [...value.floats.map((item) => float(7, item)), varint(20, 6)];
  if ("tensor" in value) return [bytes(5, encodeTensor(value.tensor)), varint(20, 4)];
  return [bytes(6, encodeGraph(value.graph)), varint(20, 5)];
}

function listFields(list: readonly (number | bigint | string)[]): Uint8Array[] {
  if (typeof list[0] === "string") return [...list.map((item) => text(9, String(item))), varint(20, 8)];
  return [...list.map((item) => varint(8, item as number | bigint)), varint(20, 7)];
}

function encodeValueInfo(value: ValueInfo): Uint8Array {
  return message(text(1, value.name), ...(value.type === undefined ? [] : [bytes(2, encodeType(value.type))]));
}

function encodeType(type: ValueType): Uint8Array {
  if ("sequence" in type) return bytes(4, bytes(1, encodeType(type.sequence)));
  if ("optional" in type) return bytes(9, bytes(1, encodeType(type.optional)));
  if ("map" in type) {
    return bytes(5, message(varint(1, ELEMENT_TYPES[type.map.key]), bytes(2, encodeType(type.map.value))));
  }
  const shape = type.shape === undefined ? [] : [bytes(2, message(...type.shape.map(encodeDimension)))];
  return bytes(1, message(varint(1, ELEMENT_TYPES[type.elemType]), ...shape));
}

function encodeDimension(dimension: number | string): Uint8Array {
  if (typeof dimension === "number") return bytes(1, varint(1, dimension));
  return bytes(1, dimension === "" ? message() : text(2, dimension));
}

function encodeTensor(tensor: Initializer): Uint8Array {
  return message(
    ...tensor.shape.map((dimension) => varint(1, dimension)),
    varint(2, ELEMENT_TYPES[tensor.dtype]),
    ...dataFields(tensor.data),
    text(8, tensor.name),
    ...externalFields(tensor.external),
  );
}

function dataFields(data: Initializer["data"]): Uint8Array[] {
  if (data === undefined) return [];
  if (isList(data)) return data.map((item) => text(6, item));
  return [bytes(9, new Uint8Array(data.buffer, data.byteOffset, data.byteLength))];
}

function externalFields(external: Initializer["external"]): Uint8Array[] {
  if (external === undefined) return [];
  const { file: location, offset, length } = external;
  const entries = Object.entries({ location, offset, length });
  const pairs = entries.map(([key, value]) => bytes(13, message(text(1, key), text(2, String(value)))));
  return [...pairs, varint(14, 1)];
}

/** Unlike Array.isArray it narrows read-only arrays too. */
function isList<Value>(value: Value): value is Extract<Value, readonly unknown[]> {
  return Array.isArray(value);
}

function message(...fields: Uint8Array[]): Uint8Array {
  return Buffer.concat(fields);
}

function varint(field: number, value: number | bigint): Uint8Array {
  return Buffer.concat([varintBytes(BigInt(field) << 3n), varintBytes(BigInt(value))]);
}

function float(field: number, value: number): Uint8Array {
  const fixed = Buffer.alloc(4);
  fixed.writeFloatLE(value);
  return Buffer.concat([varintBytes((BigInt(field) << 3n) | 5n), fixed]);
}

function bytes(field: number, value: Uint8Array): Uint8Array {
  return Buffer.concat([varintBytes((BigInt(field) << 3n) | 2n), varintBytes(BigInt(value.length)), value]);
}

function text(field: number, value: string): Uint8Array {
  return bytes(field, Buffer.from(value));
}

/** Seven bits a byte, lowest first; a negative number as its 64-bit two's complement. */
function varintBytes(value: bigint): Uint8Array {
  const result: number[] = [];
  let rest = BigInt.asUintN(64, value);
  for (; rest > 0x7fn; rest >>= 7n) result.push(Number(rest & 0x7fn) | 0x80);
  return Uint8Array.of(...result, Number(rest));
}
