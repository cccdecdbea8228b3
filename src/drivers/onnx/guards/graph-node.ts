import {
  bytesField,
  encodeMessage,
  integerField,
  messageField,
  textElement,
  type WirePart,
} from "../../../tensor/codecs/protobuf/wire-writer.ts";

// Field numbers: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
/** Fields of a GraphProto. */
export const GRAPH = { node: 1, initializer: 5, input: 11, output: 12, valueInfo: 13 } as const;
/** Fields of a NodeProto. */
export const NODE = { input: 1, output: 2, name: 3, operator: 4, attribute: 5, domain: 7 } as const;
/** Fields of an AttributeProto. */
export const ATTRIBUTE = { name: 1, integer: 3, tensor: 5, graph: 6, graphs: 11, kind: 20 } as const;
/** Fields of a TensorProto. */
export const TENSOR = { dims: 1, type: 2, int32: 5, int64: 7, name: 8, raw: 9 } as const;

/** Element types by their numbers. */
export const TYPE = { int32: 6, int64: 7, bool: 9 } as const;
/** AttributeProto.AttributeType. */
const KIND = { integer: 2, tensor: 4 } as const;

/** A node to be added to a graph. */
interface NewNode {
  readonly name?: string;
  readonly operator: string;
  readonly inputs: readonly string[];
  readonly output: string;
  readonly attributes?: Readonly<Record<string, number | ConstantTensor>>;
}

/** A constant of integers. */
interface ConstantTensor {
  readonly type: (typeof TYPE)["int32" | "int64"];
  /** Sizes below 128; absent = a scalar. */
  readonly dims?: readonly number[];
  readonly values: readonly bigint[];
}

/** The bytes of a node as a message's field. */
export function encodeNode(node: NewNode, field: number): Uint8Array {
  const { name = "", operator, inputs, output, attributes = {} } = node;
  const parts = [
    ...inputs.map((input) => textElement(NODE.input, input)),
    textElement(NODE.output, output),
    textElement(NODE.name, name),
    textElement(NODE.operator, operator),
    ...Object.entries(attributes).map(([key, value]) => messageField(NODE.attribute, attributeParts(key, value))),
  ];
  return encodeMessage([messageField(field, parts)]);
}

/** A node that gives a constant. */
function constantNode(output: string, tensor: ConstantTensor): NewNode {
  return { operator: "Constant", inputs: [], output, attributes: { value: tensor } };
}

function attributeParts(key: string, value: number | ConstantTensor): WirePart[] {
  const name = textElement(ATTRIBUTE.name, key);
  if (typeof value === "number")
    return [name, integerField(ATTRIBUTE.integer, value), integerField(ATTRIBUTE.kind, KIND.integer)];
  return [name, messageField(ATTRIBUTE.tensor, tensorParts(value)), integerField(ATTRIBUTE.kind, KIND.tensor)];
}

function tensorParts({ type, dims = [], values }: ConstantTensor): WirePart[] {
  const data = type === TYPE.int64 ? BigInt64Array.from(values) : Int32Array.from(values, Number);
  return [
    // Packed, so that a size of 0 is written too.
    bytesField(TENSOR.dims, Uint8Array.from(dims)),
    integerField(TENSOR.type, type),
    bytesField(TENSOR.raw, new Uint8Array(data.buffer)),
  ];
}

/** Nodes that are put before one of a model's, to refuse what it cannot bear. */
export class Additions {
  readonly nodes: NewNode[] = [];
  readonly #prefix: string;
  readonly #guarded: GuardedNode;

  /** `prefix` begins the names of the values, and no other value's. */
  constructor(prefix: string, guarded: GuardedNode) {
    this.#prefix = prefix;
    this.#guarded = guarded;
  }

  /** Adds a node; gives its result's name. */
  node(operator: string, inputs: readonly string[], attributes: NewNode["attributes"] = {}): string {
    const output = this.#fresh();
    this.nodes.push({ name: toGuardName(this.#guarded, output), operator, inputs, output, attributes });
    return output;
  }

  /** Adds a constant scalar. */
  scalar(type: (typeof TYPE)["int32" | "int64"], value: bigint): string {
    return this.#constant({ type, values: [value] });
  }

  /** Adds a constant list of sizes. */
  list(...values: readonly number[]): string {
    return this.#constant({ type: TYPE.int64, dims: [values.length], values: values.map(BigInt) });
  }

  #constant(tensor: Parameters<typeof constantNode>[1]): string {
    const output = this.#fresh();
    this.nodes.push(constantNode(output, tensor));
    return output;
  }

  #fresh(): string {
    return `${this.#prefix}${this.nodes.length}`;
  }
}

/** The operator that a guard is for, and what it takes. */
interface GuardedNode {
  readonly operator: string;
  readonly name: string;
  readonly need: string;
}

const MARK = "kserving guard";
const BREAK = "\u0001";

/** The name of a node that was added to a model to refuse what another one cannot bear; `key` makes it unique. */
function toGuardName({ operator, name, need }: GuardedNode, key: string): string {
  return [MARK, operator, name, need, key].join(BREAK);
}

/** Reads such a name; undefined for other names. */
export function fromGuardName(text: string): GuardedNode | undefined {
  const [mark, operator = "", name = "", need = ""] = text.split(BREAK, 4);
  return mark === MARK ? { operator, name, need } : undefined;
}
