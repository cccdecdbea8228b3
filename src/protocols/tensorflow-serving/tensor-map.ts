import { invalidArgument, ServingError } from "../../errors.ts";
import { type DecodeBudget, ELEMENT_BYTES } from "../../platform/limits/memory/decode-budget.ts";
import { ByteRanges } from "../../tensor/byte-ranges.ts";
import {
  type NarrowIntegers,
  readNarrowVarints,
  readWideVarints,
  type WideIntegers,
} from "../../tensor/codecs/protobuf/packed-varints.ts";
import { bytesTag, MAP_ENTRY, WireReader } from "../../tensor/codecs/protobuf/wire-reader.ts";
import { messageField, textElement, type WirePart } from "../../tensor/codecs/protobuf/wire-writer.ts";
import { type NumericData, type NumericDType, numericLayout } from "../../tensor/dtype.ts";
import {
  createTensor,
  createTensors,
  elementCount,
  MAX_RANK,
  type Tensor,
  type Tensors,
  viewBytes,
} from "../../tensor/tensor.ts";
import { dataTypeName, servedTypeNames, type TensorProtoType, typeOfNumber } from "./tensor-proto.ts";
import { TensorProtoFields } from "./tensor-proto-fields.ts";
import { type TensorEncoding, tensorProtoParts } from "./tensor-proto-writer.ts";

/** Memory of a map entry while it is read, so that a message of empty entries cannot fill the memory. */
const ENTRY_BYTES = 256;

/** A protobuf map of TensorProto while it is read: of entries with equal keys the last one counts. */
export class TensorMap {
  readonly #entries = new Map<string, TensorProtoFields>();
  readonly #budget: DecodeBudget;

  constructor(budget: DecodeBudget) {
    this.#budget = budget;
  }

  /** Reads an entry and gives its key. */
  read(entry: WireReader): string {
    this.#budget.spend(ENTRY_BYTES, () => "one more map entry");
    const fields = new TensorProtoFields(this.#budget);
    let key = "";
    while (entry.hasMore()) {
      const tag = entry.tag();
      if (tag === bytesTag(MAP_ENTRY.key)) key = entry.text();
      else if (tag === bytesTag(MAP_ENTRY.value)) fields.merge(entry.nested("TensorProto"));
      else entry.skip(tag);
    }
    this.#entries.set(key, fields);
    return key;
  }

  tensors(): Tensors {
    const tensors = createTensors();
    for (const [name, fields] of this.#entries) tensors[name] = toTensor(fields, name, this.#budget);
    return tensors;
  }
}

/** The entries of such a map, as fields of the message that has it. */
export function tensorFields(field: number, tensors: Tensors, encoding: TensorEncoding): WirePart[] {
  const entries: WirePart[] = [];
  for (const name in tensors) {
    const value = messageField(MAP_ENTRY.value, tensorProtoParts(tensors[name] as Tensor, encoding));
    entries.push(messageField(field, [textElement(MAP_ENTRY.key, name), value]));
  }
  return entries;
}

/**
 * The tensor that a TensorProto stands for, by the rules of TensorFlow's own reader: `tensor_content` before typed
 * values, a short list repeats its last value, no values are zeros, a long list is cut, no shape is a scalar. Numbers
 * view the message if they can. Throws `invalid_argument` with TensorFlow Serving's text for an input,
 * `tensor parsing error: NAME`, followed by what was wrong.
 */
export function toTensor(fields: TensorProtoFields, name: string, budget: DecodeBudget): Tensor {
  try {
    const type = checkedType(fields.dtype);
    const shape = checkedShape(fields);
    const claim = { fields, type, shape, count: elementCount(shape), budget };
    return type.dtype === "bytes" ? decodeStrings(claim) : createTensor(type.dtype, shape, decode(claim) as never);
  } catch (reason) {
    if (!(reason instanceof ServingError)) throw reason;
    throw invalidArgument(`tensor parsing error: ${name}: ${reason.message}`, reason);
  }
}

/** A TensorProto whose type and shape are known to be good. */
interface Claim {
  readonly fields: TensorProtoFields;
  readonly type: TensorProtoType;
  readonly shape: readonly number[];
  /** Elements of the shape. */
  readonly count: number;
  /** Memory for values that cannot be viewed in the message. */
  readonly budget: DecodeBudget;
}

function decode(claim: Claim): NumericData {
  const { type, fields, count } = claim;
  const { content } = fields;
  if (content.length === 0) return type.encoding === "block" ? decodeBlock(claim) : decodeVarints(claim);
  const dtype = type.dtype as NumericDType;
  const needed = count * numericLayout(dtype).bytes;
  // Each is looked at, and all are copied if one is neither 0 nor 1.
  if (dtype === "bool") claim.budget.spend(content.length, () => describe(claim));
  if (content.length === needed) return viewBytes(dtype, content);
  throw invalidArgument(`tensor_content has ${content.length} bytes, ${describe(claim)} needs ${needed}`);
}

function checkedType(number: number): TensorProtoType {
  const type = typeOfNumber(number);
  if (type !== undefined) return type;
  const problem = number === 0 ? "dtype is missing (DT_INVALID)" : `dtype ${dataTypeName(number)} is not supported`;
  throw invalidArgument(`${problem}; expected one of ${servedTypeNames()}`);
}

function checkedShape({ dims, rank, hasUnknownRank }: TensorProtoFields): readonly number[] {
  if (hasUnknownRank) throw invalidArgument("tensor_shape has unknown_rank; the rank of a value is known");
  if (rank > MAX_RANK) throw invalidArgument(`tensor_shape has ${rank} dimensions; expected at most ${MAX_RANK}`);
  return dims;
}

function decodeBlock(claim: Claim): NumericData {
  const { type, fields, count } = claim;
  const block = fields.valuesOf(type.field);
  const dtype = type.dtype as NumericDType;
  const { array, bytes, slots } = numericLayout(dtype);
  if (block.length % bytes !== 0)
    throw invalidArgument(`${type.fieldName} holds an odd count of numbers; expected pairs`);
  const needed = count * bytes;
  if (block.length >= needed) return viewBytes(dtype, block.subarray(0, needed));
  const values = allocate(claim);
  new Uint8Array(values.buffer).set(block);
  return repeatLast(values, block.length / array.BYTES_PER_ELEMENT, slots);
}

function decodeVarints(claim: Claim): NumericData {
  const { type, fields } = claim;
  const block = fields.valuesOf(type.field);
  const values = allocate(claim);
  if (type.dtype === "bool") return repeatLast(values, readBooleans(block, values as Uint8Array), 1);
  const found = isWide(values) ? readWideVarints(block, values) : readNarrowVarints(block, values as NarrowIntegers);
  return repeatLast(values, found, 1);
}

/** Any number but 0 is true, 256 among them, which a cast to 8 bits would make false. */
function readBooleans(block: Uint8Array, target: Uint8Array): number {
  const numbers = new Int32Array(Math.min(block.length, target.length));
  const found = readNarrowVarints(block, numbers);
  for (let index = 0; index < found; index++) target[index] = numbers[index] === 0 ? 0 : 1;
  return found;
}

/** Zeros, paid for. */
function allocate(claim: Claim): NumericData {
  const { array, bytes, slots } = numericLayout(claim.type.dtype as NumericDType);
  claim.budget.spend(claim.count * bytes, () => describe(claim));
  return new array(claim.count * slots);
}

/** Fills the rest with the last of the `found` slots; leaves zeros if there was none. */
function repeatLast<Data extends NumericData>(values: Data, found: number, slots: 1 | 2): Data {
  if (found === 0) return values;
  if (slots === 1) return values.fill(values[found - 1] as never, found) as Data;
  for (let index = found; index < values.length; index++) values[index] = values[index - slots] as never;
  return values;
}

function decodeStrings(claim: Claim): Tensor {
  const { content, strings, source } = claim.fields;
  if (content.length > 0) return decodeStringList(claim);
  const missing = claim.count - strings.count;
  if (missing > 0) claim.budget.spend(missing * (ELEMENT_BYTES + strings.lastBytes), () => describe(claim));
  strings.fit(claim.count);
  return strings.toTensor(claim.shape, source);
}

/** TensorFlow's form of strings in `tensor_content`: the lengths of all as varints, then the bytes of all. */
function decodeStringList(claim: Claim): Tensor {
  const { content } = claim.fields;
  const reader = new WireReader(content, "tensor_content");
  claim.budget.spend(claim.count * ELEMENT_BYTES, () => describe(claim));
  const lengths = new Uint32Array(claim.count);
  for (let index = 0; index < claim.count; index++) lengths[index] = reader.uint32();
  const strings = new ByteRanges();
  let end = content.length - reader.left;
  for (const length of lengths) {
    reader.pass(length);
    strings.push(end, end + length);
    end += length;
  }
  if (reader.hasMore()) throw invalidArgument(`tensor_content has more bytes than the strings of ${describe(claim)}`);
  return strings.toTensor(claim.shape, content);
}

/** For messages. */
function describe({ shape, type }: Claim): string {
  return `shape [${shape}] of ${type.name}`;
}

function isWide(values: NumericData): values is WideIntegers {
  return values instanceof BigInt64Array || values instanceof BigUint64Array;
}
