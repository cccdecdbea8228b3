import { invalidArgument, type ServingError } from "../../errors.ts";
import { ByteList } from "../../platform/limits/memory/byte-list.ts";
import { type DecodeBudget, ELEMENT_BYTES } from "../../platform/limits/memory/decode-budget.ts";
import { ByteRanges } from "../../tensor/byte-ranges.ts";
import { packedBlock, packedFields, varintsField } from "../../tensor/codecs/protobuf/packed-fields.ts";
import {
  type NarrowIntegers,
  readNarrowVarints,
  readWideVarints,
  type WideIntegers,
} from "../../tensor/codecs/protobuf/packed-varints.ts";
import { bytesTag, WIRE, type WireReader } from "../../tensor/codecs/protobuf/wire-reader.ts";
import { bytesField, type WirePart } from "../../tensor/codecs/protobuf/wire-writer.ts";
import { type NumericDType, numericLayout, type TensorData } from "../../tensor/dtype.ts";
import { packedOf } from "../../tensor/packed-bytes.ts";
import { createTensor, type Tensor, toBytes, viewBytes } from "../../tensor/tensor.ts";
import { datatypeNamed, datatypeOfContents } from "./datatype.ts";
import { dtypeOfInput, elementsOf, type InputHead } from "./raw-tensor.ts";

/** Fields of InferTensorContents by number, and the wire type of one value. */
const VALUE_WIRE: ReadonlyMap<number, number> = new Map([
  [1, WIRE.varint],
  [2, WIRE.varint],
  [3, WIRE.varint],
  [4, WIRE.varint],
  [5, WIRE.varint],
  [6, WIRE.fixed32],
  [7, WIRE.fixed64],
]);
const BYTES_CONTENTS = 8;
const NOTHING = new Uint8Array(0);
/** The fields whose values need not be decoded one by one. */
export const VIEWED_CONTENTS: ReadonlySet<number> = new Set([
  BYTES_CONTENTS,
  ...[...VALUE_WIRE].filter(([, wire]) => wire !== WIRE.varint).map(([field]) => field),
]);

/** An InferTensorContents in its wire form, which is interpreted once the datatype is known. */
export class KserveContents {
  readonly #blocks = new Map<number, ByteList>();
  readonly #strings = new ByteRanges();
  /** The whole message with the values. */
  #source: Uint8Array = NOTHING;
  readonly #budget: DecodeBudget;

  constructor(budget: DecodeBudget) {
    this.#budget = budget;
  }

  /** True if no value was sent. */
  get isEmpty(): boolean {
    return this.#blocks.size === 0 && this.#strings.count === 0;
  }

  /** Reads one message; several of one input are merged, as protobuf does. */
  read(reader: WireReader): void {
    while (reader.hasMore()) {
      const tag = reader.tag();
      if (tag === bytesTag(BYTES_CONTENTS)) this.#readString(reader);
      else this.#readValues(reader, tag);
    }
  }

  /**
   * The tensor; throws `invalid_argument` unless all values are in the field of its
   * datatype and match its shape in number.
   */
  toTensor(head: InputHead, model: string): Tensor {
    const dtype = dtypeOfInput(head, model);
    const count = elementsOf(head, model);
    const field = datatypeNamed(head.datatype)?.contents?.field;
    const stray = this.#strayField(field);
    if (field === undefined || stray !== undefined) throw wrongField(head, model, stray);
    if (dtype === "bytes") return this.#toBytesTensor(head, count, model);
    const block = this.#blocks.get(field)?.contents() ?? new Uint8Array(0);
    const refuse = (value: number) => {
      throw notHeld(head, model, value);
    };
    const data = decodeBlock(dtype, block, { allocate: () => this.#allocate(dtype, count), refuse });
    if (data.length !== count) throw wrongCount(head, model, data.length);
    return createTensor(dtype, head.shape, data as never);
  }

  #readString(reader: WireReader): void {
    this.#budget.spend(ELEMENT_BYTES, () => "one more element of bytes_contents");
    const { start, end } = reader.range();
    this.#source = reader.source;
    this.#strings.push(start, end);
  }

  #readValues(reader: WireReader, tag: number): void {
    const field = tag >>> 3;
    const wire = VALUE_WIRE.get(field);
    if (wire !== undefined && wire === (tag & 7)) this.#append(field, reader.scalar(wire));
    else if (wire !== undefined && (tag & 7) === WIRE.bytes) this.#append(field, packedBlock(reader, field, wire));
    else reader.skip(tag);
  }

  #append(field: number, block: Uint8Array): void {
    const list = this.#blocks.get(field) ?? new ByteList();
    list.append(block);
    this.#blocks.set(field, list);
  }

  /** A field with values that belongs to another datatype. */
  #strayField(own: number | undefined): number | undefined {
    if (this.#strings.count > 0 && own !== BYTES_CONTENTS) return BYTES_CONTENTS;
    for (const field of this.#blocks.keys()) if (field !== own) return field;
    return undefined;
  }

  #toBytesTensor(head: InputHead, count: number, model: string): Tensor {
    if (this.#strings.count !== count) throw wrongCount(head, model, this.#strings.count);
    return this.#strings.toTensor(head.shape, this.#source);
  }

  #allocate(dtype: NumericDType, count: number): TensorData<NumericDType> {
    const { array, bytes } = numericLayout(dtype);
    this.#budget.spend(count * bytes, () => `${count} values of ${dtype}`);
    return new array(count);
  }
}

interface Decoding {
  readonly allocate: () => TensorData;
  /** Throws for a value, as an int32, that an integer dtype of 8 or 16 bits does not hold. */
  readonly refuse: (value: number) => never;
}

/** As many values as the block has, or one more than `allocate` allows. */
function decodeBlock(
  dtype: NumericDType,
  block: Uint8Array,
  { allocate, refuse }: Decoding,
): { readonly length: number } {
  if (dtype === "float32" || dtype === "float64") return viewBytes(dtype, block);
  const values = countVarints(block);
  const target = allocate() as TensorData<NumericDType>;
  if (values !== target.length) return { length: values };
  if (target instanceof BigInt64Array || target instanceof BigUint64Array) readWideVarints(block, target);
  else if (dtype === "bool") readBooleans(block, target as Uint8Array);
  else if (target.BYTES_PER_ELEMENT < 4)
    readNarrowVarints(block, target as NarrowIntegers, (_, value) => refuse(value));
  else readNarrowVarints(block, target as NarrowIntegers);
  return target;
}

/** Any number but 0 is true, also one whose lowest byte is 0. */
function readBooleans(block: Uint8Array, target: Uint8Array): void {
  readNarrowVarints(block, target, (index) => {
    target[index] = 1;
  });
  for (let index = 0; index < target.length; index++) target[index] = target[index] ? 1 : 0;
}

/** Each varint ends with the one byte of it that is below 128. */
function countVarints(block: Uint8Array): number {
  let count = 0;
  for (let index = 0; index < block.length; index++) if ((block[index] as number) < 0x80) count++;
  return count;
}

function wrongField({ name, datatype }: InputHead, model: string, used: number | undefined): ServingError {
  if (used === undefined || datatypeNamed(datatype)?.contents === undefined) {
    return invalidArgument(
      `input '${name}' for model '${model}' is ${datatype}, which goes into raw_input_contents only`,
    );
  }
  return invalidArgument(
    `unexpected explicit tensor data for input tensor '${name}' for model '${model}' of type '${datatypeOfContents(used)}', expected datatype '${datatype}'`,
  );
}

function wrongCount({ name, shape }: InputHead, model: string, got: number): ServingError {
  const expected = shape.reduce((product, size) => product * size, 1);
  return invalidArgument(
    `unexpected number of elements for input '${name}' for model '${model}'. Expected ${expected}, got ${got}`,
  );
}

function notHeld({ name, datatype }: InputHead, model: string, value: number): ServingError {
  const sent = datatype.startsWith("U") ? value >>> 0 : value;
  return invalidArgument(
    `unexpected explicit tensor data for input tensor '${name}' for model '${model}': ${sent} is not a value of ${datatype}`,
  );
}

/** The fields of a tensor's InferTensorContents; undefined if the protocol has no typed field (FP16, BF16). */
export function contentsParts(tensor: Tensor, datatype: string): WirePart[] | undefined {
  const field = datatypeNamed(datatype)?.contents?.field;
  if (field === undefined) return undefined;
  const packed = packedOf(tensor);
  if (packed !== undefined) return [packedFields(field, packed)];
  const { dtype, data } = tensor;
  if (dtype === "bytes") return data.map((element) => bytesField(field, element));
  if (data.length === 0) return [];
  if (dtype === "float32" || dtype === "float64") return [bytesField(field, toBytes(data))];
  return [varintsField(field, data as NarrowIntegers | WideIntegers)];
}
