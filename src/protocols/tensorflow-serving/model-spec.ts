import { invalidArgument } from "../../errors.ts";
import { bytesTag, tagOf, WIRE, type WireReader } from "../../tensor/codecs/protobuf/wire-reader.ts";
import {
  integerField,
  messageField,
  textElement,
  textField,
  type WirePart,
} from "../../tensor/codecs/protobuf/wire-writer.ts";

/** Field numbers of tensorflow.serving.ModelSpec. */
const MODEL_SPEC = { name: 1, version: 2, signature: 3, label: 4 } as const;
/** The only field of google.protobuf.Int64Value. */
const VALUE = 1;

/**
 * Encoding of a version: `int64` = TensorFlow Serving's Int64Value message, `int32` = the plain integer of the original
 * kserving's clients. Both use field 2, and their wire types tell them apart.
 */
export type VersionEncoding = "int64" | "int32";

/** A tensorflow.serving.ModelSpec. */
export interface ModelSpec {
  readonly model: string;
  readonly signature: string;
  readonly version?: bigint;
  readonly label?: string;
  readonly versionEncoding: VersionEncoding;
  /** True if the message has none. */
  readonly isAbsent?: true;
}

/** Meaning of a message without a model_spec. */
export const NO_MODEL_SPEC: ModelSpec = { model: "", signature: "", versionEncoding: "int64", isAbsent: true };

/** Reads a ModelSpec over an earlier one of the same message, as protobuf merges them. */
export function readModelSpec(reader: WireReader, earlier: ModelSpec): ModelSpec {
  const { isAbsent: _, ...known } = earlier;
  let spec: ModelSpec = known;
  while (reader.hasMore()) spec = readField(reader, spec);
  return spec;
}

function readField(reader: WireReader, spec: ModelSpec): ModelSpec {
  const tag = reader.tag();
  switch (tag) {
    case bytesTag(MODEL_SPEC.name):
      return { ...spec, model: reader.text() };
    case bytesTag(MODEL_SPEC.signature):
      return { ...spec, signature: reader.text() };
    case bytesTag(MODEL_SPEC.version):
      return withChoice(spec, { version: readValue(reader.nested("Int64Value")), versionEncoding: "int64" });
    case tagOf(MODEL_SPEC.version, WIRE.varint):
      return withChoice(spec, plainVersion(reader.int64()));
    case bytesTag(MODEL_SPEC.label):
      return withChoice(spec, { label: reader.text() });
    default:
      reader.skip(tag);
      return spec;
  }
}

type Choice = Partial<Pick<ModelSpec, "version" | "label" | "versionEncoding">>;

/** Version and label are a oneof: the last one counts. */
function withChoice({ model, signature, versionEncoding }: ModelSpec, choice: Choice): ModelSpec {
  return { model, signature, versionEncoding, ...choice };
}

/** A plain integer has no presence: its 0 means that no version was chosen. */
function plainVersion(version: bigint): Choice {
  return version === 0n ? { versionEncoding: "int32" } : { version, versionEncoding: "int32" };
}

function readValue(reader: WireReader): bigint {
  let value = 0n;
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === tagOf(VALUE, WIRE.varint)) value = reader.int64();
    else reader.skip(tag);
  }
  return value;
}

/** Throws `invalid_argument`, with TensorFlow Serving's text, for a message that names no model. */
export function assertNamesModel(spec: ModelSpec): void {
  if (spec.isAbsent) throw invalidArgument("Missing ModelSpec");
  if (spec.model === "") throw invalidArgument("ModelSpec has no name specified.");
}

/** Checks that two of them have the same content. */
export function isSameSpec(a: ModelSpec, b: ModelSpec): boolean {
  const isSameModel = a.model === b.model && a.version === b.version && a.label === b.label;
  return isSameModel && a.signature === b.signature && a.versionEncoding === b.versionEncoding;
}

/** The fields of a ModelSpec. */
export function modelSpecParts(spec: ModelSpec): WirePart[] {
  const { model, signature, version, label, versionEncoding } = spec;
  const parts = [textField(MODEL_SPEC.name, model)];
  if (version !== undefined) parts.push(versionField(version, versionEncoding));
  parts.push(textField(MODEL_SPEC.signature, signature));
  if (label !== undefined) parts.push(textElement(MODEL_SPEC.label, label));
  return parts;
}

function versionField(version: bigint, encoding: VersionEncoding): WirePart {
  if (encoding === "int32") return integerField(MODEL_SPEC.version, version);
  return messageField(MODEL_SPEC.version, [integerField(VALUE, version)]);
}
