import { ServingError } from "../errors.ts";
import { type NumericData, type NumericDType, numericLayout } from "../tensor/dtype.ts";
import { createTensor, elementCount, type Tensor, viewBytes } from "../tensor/tensor.ts";
import type { ByteBudget } from "./byte-budget.ts";
import { type NarrowIntegers, readNarrowVarints, readWideVarints, type WideIntegers } from "./packed-varints.ts";
import { dataTypeName, servedTypeNames, type TensorProtoType, typeOfNumber } from "./tensor-proto.ts";
import { ELEMENT_BYTES, MAX_RANK, type TensorProtoFields } from "./tensor-proto-fields.ts";
import { WireReader } from "./wire-reader.ts";

/**
 * The tensor that a TensorProto stands for, by the rules of TensorFlow's own reader: `tensor_content` before typed values,
 * a short list repeats its last value, no values are zeros, a long list is cut, no shape is a scalar.
 * Numbers view the message where they can. Throws `invalid_argument` with TensorFlow Serving's text for an input,
 * `tensor parsing error: NAME`, followed by what was wrong.
 */
export function toTensor(fields: TensorProtoFields, name: string, budget: ByteBudget): Tensor {
  try {
    return decode(fields, budget);
  } catch (reason) {
    if (!(reason instanceof ServingError)) throw reason;
    throw new ServingError("invalid_argument", `tensor parsing error: ${name}: ${reason.message}`, { cause: reason });
  }
}

function decode(fields: TensorProtoFields, budget: ByteBudget): Tensor {
  const type = checkedType(fields.dtype);
  const shape = checkedShape(fields);
  const what = `shape [${shape}] of ${type.name}`;
  const count = elementCount(shape);
  if (type.dtype === "bytes") return createTensor("bytes", shape, decodeStrings(fields, count, { what, budget }));
  const needed = count * numericLayout(type.dtype).bytes;
  budget.spend(needed, () => what);
  const { content } = fields;
  if (content.length > 0 && content.length !== needed) throw contentMismatch(content, what, needed);
  const data = content.length > 0 ? viewBytes(type.dtype, content) : decodeValues(fields, type, count);
  return createTensor(type.dtype, shape, data as never);
}

function checkedType(number: number): TensorProtoType {
  const type = typeOfNumber(number);
  if (type !== undefined) return type;
  const problem = number === 0 ? "dtype is missing (DT_INVALID)" : `dtype ${dataTypeName(number)} is not supported`;
  throw invalid(`${problem}; expected one of ${servedTypeNames()}`);
}

function checkedShape({ dims, rank, hasUnknownRank }: TensorProtoFields): readonly number[] {
  if (hasUnknownRank) throw invalid("tensor_shape has unknown_rank; the rank of a value is known");
  if (rank > MAX_RANK) throw invalid(`tensor_shape has ${rank} dimensions; expected at most ${MAX_RANK}`);
  return dims;
}

function decodeValues(fields: TensorProtoFields, type: TensorProtoType, count: number): NumericData {
  const dtype = type.dtype as NumericDType;
  const block = fields.valuesOf(type.field);
  if (type.encoding === "block") return decodeBlock(block, type, count);
  if (dtype === "bool") return decodeBooleans(block, count);
  const values = new (numericLayout(dtype).array)(count);
  const found = isWide(values) ? readWideVarints(block, values) : readNarrowVarints(block, values as NarrowIntegers);
  return repeatLast(values, found, 1);
}

function decodeBooleans(block: Uint8Array, count: number): Uint8Array {
  const values = new Int32Array(count);
  const found = readNarrowVarints(block, values);
  const booleans = new Uint8Array(count);
  for (let index = 0; index < found; index++) booleans[index] = values[index] === 0 ? 0 : 1;
  return repeatLast(booleans, found, 1);
}

function decodeBlock(block: Uint8Array, type: TensorProtoType, count: number): NumericData {
  const dtype = type.dtype as NumericDType;
  const { array, bytes, slots } = numericLayout(dtype);
  if (block.length % bytes !== 0) throw invalid(`${type.fieldName} holds an odd count of numbers; expected pairs`);
  const needed = count * bytes;
  if (block.length >= needed) return viewBytes(dtype, block.subarray(0, needed));
  const values = new array(count * slots);
  new Uint8Array(values.buffer).set(block);
  return repeatLast(values, block.length / array.BYTES_PER_ELEMENT, slots);
}

/** Fills the rest with the last of the `found` slots; leaves zeros where there was none. */
function repeatLast<Data extends NumericData>(values: Data, found: number, slots: 1 | 2): Data {
  if (found === 0) return values;
  for (let index = found; index < values.length; index++) values[index] = values[index - slots] as never;
  return values;
}

interface StringLimits {
  readonly what: string;
  readonly budget: ByteBudget;
}

function decodeStrings(fields: TensorProtoFields, count: number, { what, budget }: StringLimits): Uint8Array[] {
  const { content, strings } = fields;
  if (content.length > 0) {
    budget.spend(count * ELEMENT_BYTES, () => what);
    return decodeStringList(content, count, what);
  }
  if (strings.length >= count) return strings.slice(0, count);
  const filler = strings.at(-1) ?? new Uint8Array(0);
  const missing = count - strings.length;
  budget.spend(missing * (ELEMENT_BYTES + filler.length), () => what);
  return strings.concat(new Array<Uint8Array>(missing).fill(filler));
}

/** TensorFlow's form of strings in `tensor_content`: the lengths of all as varints, then the bytes of all. */
function decodeStringList(content: Uint8Array, count: number, what: string): Uint8Array[] {
  const reader = new WireReader(content, "tensor_content");
  const lengths: number[] = [];
  while (lengths.length < count) lengths.push(reader.uint32());
  const strings = lengths.map((length) => reader.take(length));
  if (reader.hasMore()) throw invalid(`tensor_content has more bytes than the strings of ${what}`);
  return strings;
}

function isWide(values: NumericData): values is WideIntegers {
  return values instanceof BigInt64Array || values instanceof BigUint64Array;
}

function contentMismatch(content: Uint8Array, what: string, needed: number): ServingError {
  return invalid(`tensor_content has ${content.length} bytes, ${what} needs ${needed}`);
}

function invalid(message: string): ServingError {
  return new ServingError("invalid_argument", message);
}
