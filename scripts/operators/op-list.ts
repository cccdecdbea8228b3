import { bindFunctions, openLibrary, type Pointer } from "../../src/platform/native/bind-functions.ts";
import { copyFromNative } from "../../src/platform/native/memory.ts";

/** An operation that a TensorFlow library has. */
export interface OpDefinition {
  readonly name: string;
  readonly inputs: readonly Argument[];
  readonly outputs: readonly Argument[];
  readonly attributes: readonly AttributeDefinition[];
}

/** An input or output. */
export interface Argument {
  readonly name: string;
  /** TensorFlow's number of its type; 0 where an attribute tells it. */
  readonly type: number;
  readonly typeAttribute: string;
  /** The attribute with the number of tensors, or with the list of their types. */
  readonly listAttribute: string;
  readonly isReference: boolean;
}

/** An attribute, with the bytes of AttrValues. */
export interface AttributeDefinition {
  readonly name: string;
  /** `int`, `list(int)`, `type`, … */
  readonly kind: string;
  readonly hasDefault: boolean;
  readonly minimum: number;
  /** Numbers of types, or texts. */
  readonly allowed: readonly (number | string)[];
}

// Field numbers: https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/framework/op_def.proto
const OP = { name: 1, input: 2, output: 3, attribute: 4 };
const ARGUMENT = { name: 1, type: 3, typeAttribute: 4, number: 5, list: 6, reference: 16 };
const ATTRIBUTE = { name: 1, kind: 2, default: 3, minimum: 6, allowed: 7 };
const VALUE = { list: 1 };
const LIST = { text: 2, type: 6 };

/** The operations of a TensorFlow library, as TF_GetAllOpList gives them. */
export function listOperations(library: string): OpDefinition[] {
  const { TF_GetAllOpList } = bindFunctions(openLibrary(library), { TF_GetAllOpList: ["void *"] }, library);
  const [data = 0n, length = 0n] = copyFromNative(new BigUint64Array(2), TF_GetAllOpList() as Pointer);
  const bytes = copyFromNative(Buffer.alloc(Number(length)), data);
  return messages(bytes, 1).map(toDefinition);
}

function toDefinition(op: Buffer): OpDefinition {
  return {
    name: text(op, OP.name),
    inputs: messages(op, OP.input).map(toArgument),
    outputs: messages(op, OP.output).map(toArgument),
    attributes: messages(op, OP.attribute).map(toAttribute),
  };
}

function toArgument(argument: Buffer): Argument {
  return {
    name: text(argument, ARGUMENT.name),
    type: number(argument, ARGUMENT.type),
    typeAttribute: text(argument, ARGUMENT.typeAttribute),
    listAttribute: text(argument, ARGUMENT.number) || text(argument, ARGUMENT.list),
    isReference: number(argument, ARGUMENT.reference) === 1,
  };
}

function toAttribute(attribute: Buffer): AttributeDefinition {
  const list = messages(attribute, ATTRIBUTE.allowed).flatMap((value) => messages(value, VALUE.list));
  const types = list.flatMap((each) => messages(each, LIST.type).flatMap((packed) => [...packed]));
  const texts = list.flatMap((each) => messages(each, LIST.text).map(String));
  return {
    name: text(attribute, ATTRIBUTE.name),
    kind: text(attribute, ATTRIBUTE.kind),
    hasDefault: messages(attribute, ATTRIBUTE.default).length > 0,
    minimum: number(attribute, ATTRIBUTE.minimum),
    allowed: types.length > 0 ? types : texts,
  };
}

function text(message: Buffer, field: number): string {
  return String(messages(message, field)[0] ?? "");
}

function number(message: Buffer, field: number): number {
  return (fieldsOf(message).find(([key]) => key === field)?.[1] as number) ?? 0;
}

function messages(message: Buffer, field: number): Buffer[] {
  return fieldsOf(message).flatMap(([key, value]) => (key === field && typeof value !== "number" ? [value] : []));
}

/** A message's fields: varints as numbers, others as bytes. */
function fieldsOf(message: Buffer): [field: number, value: number | Buffer][] {
  const fields: [number, number | Buffer][] = [];
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = message[at++]!;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.length) {
    const key = varint();
    const size = [0, 8, 0, 0, 0, 4][key % 8]!;
    if (key % 8 === 0) fields.push([Math.floor(key / 8), varint()]);
    else {
      const length = key % 8 === 2 ? varint() : size;
      fields.push([Math.floor(key / 8), message.subarray(at, at + length)]);
      at += length;
    }
  }
  return fields;
}
