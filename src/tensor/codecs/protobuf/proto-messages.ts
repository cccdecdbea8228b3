import { readFileSync } from "node:fs";
import {
  createFileRegistry,
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonObject,
  type JsonValue,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { invalidArgument, ServingError } from "../../../errors.ts";

/** Built by `npm run gen`. */
const DESCRIPTORS = new URL("../../../../proto/descriptors.binpb", import.meta.url);

/** Messages of proto/ by type name, for calls that are too rare for their own codec. */
const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(DESCRIPTORS)));

/** Names of fields in JSON: those of the .proto file, or protobuf's own, `modelSpec` for `model_spec`. */
export type FieldNames = "proto" | "json";

/** Reads a message into protobuf's JSON form, all fields there; throws `invalid_argument` for malformed bytes. */
export function decodeMessage(type: string, bytes: Uint8Array, names: FieldNames = "proto"): JsonObject {
  const schema = schemaOf(type);
  try {
    const options = { registry, useProtoFieldName: names === "proto", alwaysEmitImplicit: true };
    return toJson(schema, fromBinary(schema, bytes), options) as JsonObject;
  } catch (cause) {
    throw invalidArgument(`Malformed ${type}; expected that message of this server's reflection.`, cause);
  }
}

/** Writes a message given in protobuf's JSON form. */
export function encodeAs(type: string, value: JsonValue): Buffer {
  const schema = schemaOf(type);
  return Buffer.from(toBinary(schema, fromJson(schema, value, { registry })));
}

function schemaOf(type: string): DescMessage {
  const schema = registry.getMessage(type);
  if (schema === undefined) throw new ServingError("internal", `proto/descriptors.binpb has no message ${type}.`);
  return schema;
}
