import { invalidArgument, type ServingError } from "../../errors.ts";
import { defineJob } from "../../platform/codec-host/job.ts";
import { DecodeBudget } from "../../platform/limits/memory/decode-budget.ts";
import { decodeBase64 } from "../../tensor/codecs/json/decode-base64.ts";
import { isJsonObject, JsonNumbers, type JsonValue } from "../../tensor/codecs/json/json-value.ts";
import { bytesTag, MAP_ENTRY, WIRE, WireReader } from "../../tensor/codecs/protobuf/wire-reader.ts";
import { parseKserveObject } from "./http-request.ts";

/** Parameters of a load. */
export interface LoadParameters {
  /** A ModelConfig in JSON; absent = the model's own. */
  readonly config?: string;
  /** Contents by paths in the model's folder. */
  readonly files: ReadonlyMap<string, Uint8Array>;
}

/** Prefix of the names of parameters with files. */
const FILE = "file:";

/** Reads the body of a load over HTTP, which may be empty, and whose files are in base64. Throws `invalid_argument`. */
export function decodeHttpLoad(body: Uint8Array, maxBytes: number): LoadParameters {
  if (body.length === 0) return { files: new Map() };
  const { parameters = null } = parseKserveObject(body, new DecodeBudget(maxBytes));
  const collected = new Collected();
  if (parameters === null) return collected.plain();
  if (!isJsonObject(parameters)) throw invalidArgument("Unable to parse 'parameters': expected an object");
  for (const [name, value] of Object.entries(parameters)) {
    if (value === null) continue;
    if (name === "config" && typeof value === "string") collected.config = value;
    else if (!name.startsWith(FILE)) throw unrecognized(name, jsonTypeOf(value));
    else collected.addFile(name, typeof value === "string" ? decodeBase64(value) : undefined, "base64");
  }
  return collected.plain();
}

/** {@link decodeHttpLoad} for a codec thread. */
export const decodeHttpLoadJob = defineJob(import.meta.url, "decodeHttpLoadJob", decodeHttpLoad);

/** Field numbers of inference.RepositoryModelLoadRequest, and of ModelRepositoryParameter. */
const REQUEST = { model: 2, parameters: 3 } as const;
const VALUE_TYPES = ["", "BOOL", "INT", "STRING", "BYTES"] as const;

/** Reads a RepositoryModelLoadRequest; its files view the message. Throws `invalid_argument`. */
export function decodeGrpcLoad(message: Uint8Array): { readonly model: string; readonly parameters: LoadParameters } {
  const reader = new WireReader(message, "RepositoryModelLoadRequest");
  const entries = new Map<string, StatedValue>();
  let model = "";
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === bytesTag(REQUEST.model)) model = reader.text();
    else if (tag === bytesTag(REQUEST.parameters)) readEntry(reader.nested("parameters"), entries);
    else reader.skip(tag);
  }
  const collected = new Collected();
  for (const [name, { type, content, reader: value }] of entries) {
    if (name === "config" && type === "STRING") collected.config = value.text();
    else if (!name.startsWith(FILE)) throw unrecognized(name, type);
    else collected.addFile(name, type === "BYTES" ? content : undefined, "bytes");
  }
  return { model, parameters: collected.plain() };
}

/** The value of a parameter; the reader is at its text. */
interface StatedValue {
  readonly type: (typeof VALUE_TYPES)[number];
  readonly content: Uint8Array;
  readonly reader: WireReader;
}

/** Of equal names the last one is used. */
function readEntry(entry: WireReader, entries: Map<string, StatedValue>): void {
  let key = "";
  let stated: StatedValue | undefined;
  while (entry.hasMore()) {
    const tag = entry.tag();
    if (tag === bytesTag(MAP_ENTRY.key)) key = entry.text();
    else if (tag === bytesTag(MAP_ENTRY.value)) stated = readValue(entry.bytes());
    else entry.skip(tag);
  }
  if (stated !== undefined) entries.set(key, stated);
}

function readValue(bytes: Uint8Array): StatedValue {
  const value = new WireReader(bytes, "ModelRepositoryParameter");
  let stated: StatedValue = { type: "", content: bytes, reader: value };
  while (value.hasMore()) {
    const tag = value.tag();
    const type = VALUE_TYPES[tag >>> 3] ?? "";
    const isBytes = (tag & 7) === WIRE.bytes;
    const start = value.left;
    const content = isBytes ? value.bytes() : NOTHING;
    if (!isBytes) value.skip(tag);
    if (type === "") continue;
    const reader = new WireReader(bytes.subarray(bytes.length - start), "ModelRepositoryParameter");
    stated = { type, content, reader };
  }
  return stated;
}

const NOTHING = new Uint8Array(0);

class Collected implements LoadParameters {
  config?: string;
  readonly files = new Map<string, Uint8Array>();

  addFile(name: string, content: Uint8Array | undefined, expected: string): void {
    if (content === undefined) {
      throw invalidArgument(`File parameter '${name.slice(0, 200)}' must have ${expected} type for its value`);
    }
    this.files.set(name.slice(FILE.length), content);
  }

  /** Plain data, which crosses threads. */
  plain(): LoadParameters {
    const { config, files } = this;
    return { files, ...(config !== undefined && { config }) };
  }
}

/** With Triton's text. */
function unrecognized(name: string, type: string): ServingError {
  return invalidArgument(
    `Unrecognized load parameter '${name.slice(0, 200)}' with type '${type}'; expected config, or file:VERSION/NAME`,
  );
}

function jsonTypeOf(value: JsonValue): string {
  if (typeof value === "string") return "STRING";
  if (typeof value === "boolean") return "BOOL";
  return value instanceof JsonNumbers ? "DOUBLE" : "JSON";
}
