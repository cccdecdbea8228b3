import type { ProtobufField, ProtobufFile } from "../protobuf-file.ts";
import { ATTRIBUTE, GRAPH, NODE, TENSOR, TYPE } from "./graph-node.ts";

/** A node of a model's graph. */
export interface GraphNode {
  readonly span: ProtobufField;
  readonly operator: string;
  readonly domain: string;
  readonly name: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: readonly { readonly name: string; readonly span: ProtobufField }[];
}

/** A constant of a graph. */
interface Constant {
  readonly type: number;
  readonly dims: readonly number[];
  readonly span: ProtobufField;
}

const VALUE = { name: 1, type: 2 };
const TENSOR_TYPE = { tensor: 1, elementType: 1 };
/** Constants with more elements are not read. */
const MAX_ELEMENTS = 4096;

const INTEGERS = new Set(["Shape", "Size", "NonZero", "ArgMax", "ArgMin", "NonMaxSuppression"]);
const CONDITIONS = new Set([
  ...["Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "And", "Or", "Not", "Xor", "IsNaN", "IsInf"],
]);
/** Operators whose results are not of their first input's type, and of which nothing else is known. */
const OPAQUE = new Set(["If", "Loop", "Scan", "SequenceAt", "Optional", "OptionalGetElement", "EyeLike", "OneHot"]);
const FLOAT = 1;

/** Reads a node's fields; its attributes only as far as their names. */
export function readNode(file: ProtobufFile, span: ProtobufField): GraphNode {
  const fields = [...file.fields(span.start, span.end)];
  const texts = (number: number) => fields.filter((field) => field.number === number).map((field) => file.text(field));
  const one = (number: number) => texts(number)[0] ?? "";
  const attributes = fields.filter(({ number }) => number === NODE.attribute);
  return {
    span,
    attributes: attributes.map((field) => ({ name: firstText(file, field, ATTRIBUTE.name), span: field })),
    ...{ operator: one(NODE.operator), domain: one(NODE.domain), name: one(NODE.name) },
    ...{ inputs: texts(NODE.input), outputs: texts(NODE.output) },
  };
}

/** Types and constants of a graph by the names of its values, with those of the graphs around it. */
export class Scope {
  readonly #file: ProtobufFile;
  readonly #outer: Scope | undefined;
  readonly #types = new Map<string, number>();
  readonly #constants = new Map<string, Constant>();
  /** Inputs of the graph: those with a value may have another one in a request. */
  readonly #inputs = new Set<string>();

  /** Version of ONNX's own operators. */
  readonly opset: number;

  constructor(file: ProtobufFile, opset: number, outer?: Scope) {
    this.#file = file;
    this.opset = opset;
    this.#outer = outer;
  }

  /** Takes note of a graph's field that declares a value or a constant. */
  declare(field: ProtobufField): void {
    const { number } = field;
    if (number === GRAPH.input) this.#inputs.add(firstText(this.#file, field, VALUE.name));
    if (number === GRAPH.initializer) this.#addConstant(firstText(this.#file, field, TENSOR.name), field);
    if (number === GRAPH.input || number === GRAPH.output || number === GRAPH.valueInfo) this.#declareValue(field);
  }

  /** Takes note of a node's results. */
  add(node: GraphNode): void {
    const [first] = node.outputs;
    if (first === undefined || first === "") return;
    const value = attributeOf(node, "value");
    const tensor = value && this.#first(value, ATTRIBUTE.tensor);
    if (node.operator === "Constant" && tensor !== undefined) this.#addConstant(first, tensor);
    const type = this.#resultType(node);
    if (type !== undefined && !this.#types.has(first)) this.#types.set(first, type);
  }

  /** The number of a value's element type; undefined if nothing tells it. */
  typeOf(name: string): number | undefined {
    return this.#types.get(name) ?? this.#outer?.typeOf(name);
  }

  /** A constant's sizes; undefined for other values. */
  sizesOf(name: string): readonly number[] | undefined {
    return this.#constant(name)?.dims;
  }

  /** An attribute that is an integer; undefined if it is missing. */
  integerOf(node: GraphNode, name: string): number | undefined {
    const attribute = attributeOf(node, name);
    const field = attribute && this.#first(attribute, ATTRIBUTE.integer);
    return field && Number(this.#file.integers(field)[0]);
  }

  /** The elements of a constant of integers; undefined for other values, and for large ones. */
  integersOf(name: string): readonly bigint[] | undefined {
    const constant = this.#constant(name);
    if (constant === undefined || constant.dims.reduce((one, other) => one * other, 1) > MAX_ELEMENTS) return undefined;
    return readIntegers(this.#file, constant);
  }

  #constant(name: string): Constant | undefined {
    if (this.#inputs.has(name)) return undefined;
    return this.#constants.get(name) ?? (this.#outer === undefined ? undefined : this.#outer.#constant(name));
  }

  #addConstant(name: string, span: ProtobufField): void {
    const fields = [...this.#file.fields(span.start, span.end)];
    const type = fields.find(({ number }) => number === TENSOR.type)?.value ?? 0;
    const dims = fields.filter(({ number }) => number === TENSOR.dims).flatMap((field) => this.#file.integers(field));
    this.#constants.set(name, { type, dims: dims.map(Number), span });
    this.#types.set(name, type);
  }

  #declareValue(field: ProtobufField): void {
    const type = this.#first(field, VALUE.type);
    const tensor = type && this.#first(type, TENSOR_TYPE.tensor);
    const element = tensor && this.#first(tensor, TENSOR_TYPE.elementType)?.value;
    if (element) this.#types.set(firstText(this.#file, field, VALUE.name), element);
  }

  #resultType(node: GraphNode): number | undefined {
    const { operator, domain, inputs } = node;
    if (domain !== "" && domain !== "ai.onnx") return undefined;
    if (INTEGERS.has(operator)) return TYPE.int64;
    if (CONDITIONS.has(operator)) return TYPE.bool;
    if (operator === "Cast") return this.integerOf(node, "to");
    if (operator === "ConstantOfShape") return this.#filledType(node);
    if (operator === "Constant" || OPAQUE.has(operator)) return this.#plainType(node);
    if (operator === "Where") return this.typeOf(inputs[1] ?? "") ?? this.typeOf(inputs[2] ?? "");
    return this.typeOf(inputs[0] ?? "");
  }

  #filledType(node: GraphNode): number | undefined {
    const value = attributeOf(node, "value");
    const tensor = value && this.#first(value, ATTRIBUTE.tensor);
    return tensor === undefined ? FLOAT : this.#first(tensor, TENSOR.type)?.value;
  }

  #plainType(node: GraphNode): number | undefined {
    return attributeOf(node, "value_int") || attributeOf(node, "value_ints") ? TYPE.int64 : undefined;
  }

  #first(message: ProtobufField, number: number): ProtobufField | undefined {
    for (const field of this.#file.fields(message.start, message.end)) if (field.number === number) return field;
    return undefined;
  }
}

function attributeOf({ attributes }: GraphNode, name: string): ProtobufField | undefined {
  return attributes.find((one) => one.name === name)?.span;
}

function firstText(file: ProtobufFile, message: ProtobufField, number: number): string {
  for (const field of file.fields(message.start, message.end)) if (field.number === number) return file.text(field);
  return "";
}

function readIntegers(file: ProtobufFile, { type, span }: Constant): readonly bigint[] | undefined {
  if (type !== TYPE.int32 && type !== TYPE.int64) return undefined;
  const isWide = type === TYPE.int64;
  const found: bigint[] = [];
  for (const field of file.fields(span.start, span.end)) {
    if (field.number === TENSOR.raw) {
      const bytes = file.bytes(field.start, field.end - field.start);
      for (let at = 0; at + (isWide ? 8 : 4) <= bytes.length; at += isWide ? 8 : 4)
        found.push(isWide ? bytes.readBigInt64LE(at) : BigInt(bytes.readInt32LE(at)));
    }
    if (field.number === (isWide ? TENSOR.int64 : TENSOR.int32)) found.push(...file.integers(field));
  }
  // Data in another file.
  return found.length === 0 ? undefined : found;
}
