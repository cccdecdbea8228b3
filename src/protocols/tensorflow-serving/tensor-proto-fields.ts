import { ByteList } from "../../platform/limits/memory/byte-list.ts";
import { type DecodeBudget, ELEMENT_BYTES } from "../../platform/limits/memory/decode-budget.ts";
import { ByteRanges } from "../../tensor/byte-ranges.ts";
import { packedBlock } from "../../tensor/codecs/protobuf/packed-fields.ts";
import { bytesTag, tagOf, WIRE, type WireReader } from "../../tensor/codecs/protobuf/wire-reader.ts";
import { MAX_RANK } from "../../tensor/tensor.ts";
import { TENSOR_PROTO, TENSOR_SHAPE } from "./tensor-proto.ts";

/** No bytes. */
const EMPTY = new Uint8Array(0);

const STRING_VAL = 8;

/** The wire type of one value of each typed field that holds numbers; packed ones come as bytes instead. */
const VALUE_WIRE: ReadonlyMap<number, number> = new Map([
  [5, WIRE.fixed32],
  [6, WIRE.fixed64],
  [7, WIRE.varint],
  [9, WIRE.fixed32],
  [10, WIRE.varint],
  [11, WIRE.varint],
  [12, WIRE.fixed64],
  [13, WIRE.varint],
  [16, WIRE.varint],
  [17, WIRE.varint],
]);

/** The fields with values that need not be decoded one by one. */
export const VIEWED_FIELDS: ReadonlySet<number> = new Set([
  TENSOR_PROTO.content,
  STRING_VAL,
  ...[...VALUE_WIRE].filter(([, wire]) => wire !== WIRE.varint).map(([field]) => field),
]);

/**
 * A TensorProto as it lies on the wire: its fields may come in any order, split, or in several messages to be merged,
 * so nothing is interpreted before all were seen.
 */
export class TensorProtoFields {
  /** Number of tensorflow.DataType; 0 = none was sent. */
  dtype = 0;
  /** The first {@link MAX_RANK} dimensions. */
  readonly dims: number[] = [];
  /** Number of dimensions read. */
  rank = 0;
  hasUnknownRank = false;
  /** `tensor_content`; empty = none. */
  content: Uint8Array = EMPTY;
  /** `string_val`, as places in {@link source}. */
  readonly strings = new ByteRanges();
  /** The whole message that brought the fields. */
  source: Uint8Array = EMPTY;
  /** Typed fields of numbers by their number; most messages have none or one. */
  #values: Map<number, ByteList> | undefined;
  readonly #budget: DecodeBudget;

  constructor(budget: DecodeBudget) {
    this.#budget = budget;
  }

  /** The values of a typed field of numbers as one packed block; empty = none. */
  valuesOf(field: number): Uint8Array {
    return this.#values?.get(field)?.contents() ?? EMPTY;
  }

  /** Reads a TensorProto into these fields, by protobuf's rules for merging. */
  merge(reader: WireReader): void {
    while (reader.hasMore()) this.#readField(reader, reader.tag());
  }

  #readField(reader: WireReader, tag: number): void {
    switch (tag) {
      case tagOf(TENSOR_PROTO.dtype, WIRE.varint):
        this.dtype = reader.uint32();
        return;
      case bytesTag(TENSOR_PROTO.shape):
        this.#readShape(reader.nested("TensorShapeProto"));
        return;
      case bytesTag(TENSOR_PROTO.content):
        this.content = reader.bytes();
        return;
      case bytesTag(STRING_VAL):
        this.#budget.spend(ELEMENT_BYTES, () => "one more string_val");
        this.#readString(reader);
        return;
      default:
        this.#readValues(reader, tag);
    }
  }

  #readString(reader: WireReader): void {
    const { start, end } = reader.range();
    this.source = reader.source;
    this.strings.push(start, end);
  }

  #readValues(reader: WireReader, tag: number): void {
    const wire = VALUE_WIRE.get(tag >>> 3);
    if (wire === (tag & 7)) this.#append(tag >>> 3, reader.scalar(wire));
    else if (wire !== undefined && (tag & 7) === WIRE.bytes)
      this.#append(tag >>> 3, packedBlock(reader, tag >>> 3, wire));
    else reader.skip(tag);
  }

  #append(field: number, block: Uint8Array): void {
    this.#values ??= new Map();
    const list = this.#values.get(field) ?? new ByteList();
    list.append(block);
    this.#values.set(field, list);
  }

  #readShape(reader: WireReader): void {
    while (reader.hasMore()) {
      const tag = reader.tag();
      if (tag === bytesTag(TENSOR_SHAPE.dim)) this.#addDimension(reader.nested("TensorShapeProto.Dim"));
      else if (tag === tagOf(TENSOR_SHAPE.unknownRank, WIRE.varint)) this.hasUnknownRank = reader.uint32() !== 0;
      else reader.skip(tag);
    }
  }

  #addDimension(reader: WireReader): void {
    let size = 0;
    while (reader.hasMore()) {
      const tag = reader.tag();
      if (tag === tagOf(TENSOR_SHAPE.dimSize, WIRE.varint)) size = reader.integer();
      else reader.skip(tag);
    }
    this.rank++;
    if (this.rank <= MAX_RANK) this.dims.push(size);
  }
}
