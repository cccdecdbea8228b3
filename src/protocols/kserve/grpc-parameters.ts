import { invalidArgument } from "../../errors.ts";
import type { DecodeBudget } from "../../platform/limits/memory/decode-budget.ts";
import { bytesTag, MAP_ENTRY, tagOf, WIRE, type WireReader } from "../../tensor/codecs/protobuf/wire-reader.ts";
import { bytesField, messageField, textField, type WirePart } from "../../tensor/codecs/protobuf/wire-writer.ts";
import { EMPTY_FINAL, type Parameter, type Parameters } from "./parameters.ts";

/** Field numbers of inference.InferParameter. */
const PARAMETER = { bool: 1, int64: 2, string: 3, double: 4, uint64: 5 } as const;
/** Memory of an entry while it is read. */
const ENTRY_BYTES = 256;

/**
 * Reads the next entry of a message's `map<string, InferParameter>` into `parameters`;
 * an entry without a value is skipped.
 */
export function readParameter(message: WireReader, parameters: Map<string, Parameter>, budget: DecodeBudget): void {
  budget.spend(ENTRY_BYTES, () => "one more parameter");
  const entry = message.nested("parameters");
  let key = "";
  let value: Parameter | undefined;
  while (entry.hasMore()) {
    const tag = entry.tag();
    if (tag === bytesTag(MAP_ENTRY.key)) key = entry.text();
    else if (tag === bytesTag(MAP_ENTRY.value)) value = readValue(entry.nested("InferParameter")) ?? value;
    else entry.skip(tag);
  }
  if (value !== undefined) parameters.set(key, value);
}

/** The parameters of a request that the protocol reads, with their types here and in Triton's words. */
const KINDS = new Map<string, readonly [type: string, expected: string]>([
  [EMPTY_FINAL, ["boolean", "bool_param"]],
  ["sequence_start", ["boolean", "bool_param"]],
  ["sequence_end", ["boolean", "bool_param"]],
  ["priority", ["bigint", "int64_param or uint64_param"]],
  ["timeout", ["bigint", "int64_param"]],
]);

/** Throws `invalid_argument` for a request's parameters of wrong types or names, with the texts of Triton's gRPC. */
export function checkParameters(parameters: Parameters): void {
  for (const [name, value] of parameters) {
    const [type, expected] = KINDS.get(name) ?? [];
    if (type !== undefined && typeof value !== type)
      throw invalidArgument(`invalid value type for '${name}' parameter, expected ${expected}.`);
    if (type === undefined && name.startsWith("triton_"))
      throw invalidArgument(
        `parameter keys starting with 'triton_' are reserved for Triton usage. Only the following keys starting with 'triton_' are allowed: ${EMPTY_FINAL}`,
      );
  }
}

function readValue(reader: WireReader): Parameter | undefined {
  let value: Parameter | undefined;
  while (reader.hasMore()) value = readChoice(reader, reader.tag()) ?? value;
  return value;
}

function readChoice(reader: WireReader, tag: number): Parameter | undefined {
  switch (tag) {
    case tagOf(PARAMETER.bool, WIRE.varint):
      return reader.uint32() !== 0;
    case tagOf(PARAMETER.int64, WIRE.varint):
      return reader.int64();
    case tagOf(PARAMETER.uint64, WIRE.varint):
      return BigInt.asUintN(64, reader.int64());
    case bytesTag(PARAMETER.string):
      return reader.text();
    case tagOf(PARAMETER.double, WIRE.fixed64): {
      const bytes = reader.take(8);
      return new DataView(bytes.buffer, bytes.byteOffset).getFloat64(0, true);
    }
    default:
      reader.skip(tag);
      return undefined;
  }
}

/** The entry of a `map<string, InferParameter>` with a text. */
export function textParameter(name: string, value: string): WirePart[] {
  return [textField(MAP_ENTRY.key, name), messageField(MAP_ENTRY.value, [textField(PARAMETER.string, value)])];
}

/** The entry of a `map<string, InferParameter>` with a boolean; false is written too, as it is one of several kinds. */
export function booleanParameter(name: string, value: boolean): WirePart[] {
  const parameter = Uint8Array.of(tagOf(PARAMETER.bool, WIRE.varint), value ? 1 : 0);
  return [textField(MAP_ENTRY.key, name), bytesField(MAP_ENTRY.value, parameter)];
}
