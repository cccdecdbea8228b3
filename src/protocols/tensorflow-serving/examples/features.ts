import { type DecodeBudget, ELEMENT_BYTES } from "../../../platform/limits/memory/decode-budget.ts";
import { packedBlock, varintsField } from "../../../tensor/codecs/protobuf/packed-fields.ts";
import { bytesTag, MAP_ENTRY, tagOf, WIRE, WireReader } from "../../../tensor/codecs/protobuf/wire-reader.ts";
import {
  bytesField,
  encodeMessage,
  messageField,
  textElement,
  type WirePart,
} from "../../../tensor/codecs/protobuf/wire-writer.ts";

/** The values of one feature of a tf.Example. */
export type Feature =
  | { readonly kind: "bytes"; readonly values: readonly Uint8Array[] }
  | { readonly kind: "float"; readonly values: readonly number[] }
  | { readonly kind: "int64"; readonly values: readonly bigint[] };

/** A tf.Example: its features by name. */
export type Features = ReadonlyMap<string, Feature>;

/** Field numbers of Example and Features, of Feature, and of each list of values. */
const FEATURES = 1;
const FEATURE = 1;
const KINDS = { bytes: 1, float: 2, int64: 3 } as const;
const VALUE = 1;

const MESSAGE = "Example";

/**
 * Reads a serialised tf.Example; of features of one name the last one counts. Throws
 * `invalid_argument` for malformed bytes.
 */
export function readFeatures(example: Uint8Array, budget: DecodeBudget): Features {
  const features = new Map<string, Feature>();
  const reader = new WireReader(example, MESSAGE);
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === bytesTag(FEATURES)) readMap(reader.nested(MESSAGE), features, budget);
    else reader.skip(tag);
  }
  return features;
}

function readMap(reader: WireReader, features: Map<string, Feature>, budget: DecodeBudget): void {
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag !== bytesTag(FEATURE)) {
      reader.skip(tag);
      continue;
    }
    budget.spend(4 * ELEMENT_BYTES, () => "one more feature");
    const [name, feature] = readEntry(reader.nested(MESSAGE), budget);
    features.set(name, feature);
  }
}

function readEntry(reader: WireReader, budget: DecodeBudget): [name: string, feature: Feature] {
  let name = "";
  let feature: Feature = { kind: "float", values: [] };
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === bytesTag(MAP_ENTRY.key)) name = reader.text();
    else if (tag === bytesTag(MAP_ENTRY.value)) feature = readFeature(reader.nested(MESSAGE), budget);
    else reader.skip(tag);
  }
  return [name, feature];
}

/** Of a oneof that is set several times the last kind counts. */
function readFeature(reader: WireReader, budget: DecodeBudget): Feature {
  let feature: Feature = { kind: "float", values: [] };
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === bytesTag(KINDS.bytes)) feature = readBytes(reader.nested(MESSAGE), budget);
    else if (tag === bytesTag(KINDS.float)) feature = readFloats(reader.nested(MESSAGE), budget);
    else if (tag === bytesTag(KINDS.int64)) feature = readIntegers(reader.nested(MESSAGE), budget);
    else reader.skip(tag);
  }
  return feature;
}

function readBytes(reader: WireReader, budget: DecodeBudget): Feature {
  const values: Uint8Array[] = [];
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === bytesTag(VALUE)) {
      budget.spend(ELEMENT_BYTES, () => "one more value of a feature");
      values.push(reader.bytes());
    } else reader.skip(tag);
  }
  return { kind: "bytes", values };
}

const FLOAT_BYTES = 4;

function readFloats(reader: WireReader, budget: DecodeBudget): Feature {
  const values: number[] = [];
  const take = (bytes: Uint8Array) => {
    budget.spend(4 * bytes.length, () => "values of a feature");
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    for (let at = 0; at < bytes.length; at += FLOAT_BYTES) values.push(view.getFloat32(at, true));
  };
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === bytesTag(VALUE)) take(packedBlock(reader, VALUE, WIRE.fixed32));
    else if (tag === tagOf(VALUE, WIRE.fixed32)) take(reader.take(FLOAT_BYTES));
    else reader.skip(tag);
  }
  return { kind: "float", values };
}

function readIntegers(reader: WireReader, budget: DecodeBudget): Feature {
  const values: bigint[] = [];
  const take = (from: WireReader) => {
    budget.spend(ELEMENT_BYTES, () => "one more value of a feature");
    values.push(from.int64());
  };
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === tagOf(VALUE, WIRE.varint)) take(reader);
    else if (tag === bytesTag(VALUE)) for (const packed = reader.nested(MESSAGE); packed.hasMore(); ) take(packed);
    else reader.skip(tag);
  }
  return { kind: "int64", values };
}

/** Serialises a tf.Example. */
export function writeFeatures(features: Features): Buffer {
  const entries = Array.from(features, ([name, feature]) => {
    // A feature without values has no kind, and TensorFlow treats it as missing.
    const lists = feature.values.length === 0 ? [] : [messageField(KINDS[feature.kind], valueParts(feature))];
    return messageField(FEATURE, [textElement(MAP_ENTRY.key, name), messageField(MAP_ENTRY.value, lists)]);
  });
  return encodeMessage([messageField(FEATURES, entries)]);
}

function valueParts({ kind, values }: Feature): WirePart[] {
  if (kind === "bytes") return values.map((value) => bytesField(VALUE, value));
  if (kind === "float") return [bytesField(VALUE, Buffer.from(Float32Array.from(values).buffer))];
  return [varintsField(VALUE, BigInt64Array.from(values))];
}
