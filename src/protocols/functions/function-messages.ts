import { defineJob } from "../../platform/codec-host/job.ts";
import { bytesTag, MAP_ENTRY, tagOf, WIRE, WireReader } from "../../tensor/codecs/protobuf/wire-reader.ts";
import {
  bytesField,
  encodeMessage,
  integerField,
  messageField,
  textElement,
  textField,
  type WirePart,
} from "../../tensor/codecs/protobuf/wire-writer.ts";
import { createRecord } from "../../tensor/record.ts";

/** URL path of a method of kserving.FunctionService. */
export function functionPath(method: "ListModels" | "CallFunction"): string {
  return `/kserving.FunctionService/${method}`;
}

/** Texts by name. */
type Texts = Readonly<Record<string, string>>;

/** A kserving.CallFunctionRequest. */
export interface FunctionCall {
  /** Empty = the only model. */
  readonly model: string;
  readonly name: string;
  readonly facts: Texts;
  readonly body: Uint8Array;
}

/** A kserving.CallFunctionPart. */
export interface FunctionPart {
  readonly body: Uint8Array;
  /** Empty behind the first part. */
  readonly contentType: string;
  readonly headers: Texts;
  readonly model: string;
  readonly version: bigint;
  readonly isWhole: boolean;
  /** Present = the parts before are all that there are. */
  readonly error?: PartError | undefined;
}

/** The kserving.Error of a part. */
interface PartError {
  /** gRPC's number. */
  readonly status: number;
  readonly message: string;
  /** A google.rpc.Status with facts for programs; empty = there are none. */
  readonly details: Uint8Array;
}

const REQUEST = { model: 1, name: 2, facts: 3, body: 4 } as const;
const PART = { body: 1, contentType: 2, headers: 3, model: 4, version: 5, isWhole: 6, error: 7 } as const;
const ERROR = { status: 1, message: 2, details: 3 } as const;

const NO_BYTES: Uint8Array = new Uint8Array(0);

/** A {@link FunctionCall} without its bytes. */
export type CallHead = Omit<FunctionCall, "body">;

/** Writes a CallFunctionRequest. */
function encodeCall({ model, name, facts }: CallHead, body: Uint8Array): Buffer {
  return encodeMessage([
    textField(REQUEST.model, model),
    textField(REQUEST.name, name),
    ...textEntries(REQUEST.facts, facts),
    bytesField(REQUEST.body, body),
  ]);
}

/** {@link encodeCall} for a codec thread. */
export const encodeCallJob = defineJob(import.meta.url, "encodeCallJob", encodeCall);

/** Entries of a map, and the bytes of all of them. */
interface MapLimits {
  readonly entries: number;
  readonly bytes: number;
}

/** The largest is the JSON of the fields beside a sound: a million characters, of which each may take six bytes. */
const MAX_FACTS: MapLimits = { entries: 8, bytes: 8 * 1024 * 1024 };
/** As many as Node takes of an HTTP answer. */
const MAX_HEADERS: MapLimits = { entries: 2000, bytes: 1024 * 1024 };

/** Fields of a message that are read at most, its maps' entries with theirs: the main thread passes over many. */
const MAX_FIELDS = 8192;
/** Bytes of a text in a message that is none of a map's. */
const MAX_TEXT_BYTES = 64 * 1024;

/** Readers of a message's fields by their tags. */
type FieldReaders = Readonly<Record<number, () => void>>;

/** The fields of a message, and of those in it, of which a number is read at most. */
export class CountedFields {
  #left: number;
  readonly #most: number;

  constructor(most: number) {
    this.#left = most;
    this.#most = most;
  }

  /** Reads a message's fields; passes over unknown ones, but for groups, which may have any number in them. */
  read(reader: WireReader, readers: FieldReaders): void {
    while (reader.hasMore()) this.readOne(reader, readers);
  }

  /** Reads the next field alone, likewise. */
  readOne(reader: WireReader, readers: FieldReaders): void {
    const tag = reader.tag();
    if (--this.#left < 0) throw reader.malformed(`it has more than ${this.#most} fields`);
    const read = readers[tag];
    if (read !== undefined) read();
    else if ((tag & 7) === WIRE.group) throw reader.malformed(`field ${tag >>> 3} is a group`);
    else reader.skip(tag);
  }
}

/** Reads a CallFunctionRequest, whose body views `bytes`; throws `invalid_argument` for any other bytes. */
export function decodeCall(bytes: Uint8Array): FunctionCall {
  const reader = new WireReader(bytes, "CallFunctionRequest");
  const fields = new CountedFields(MAX_FIELDS);
  const facts = new TextMap(reader, "facts", MAX_FACTS);
  let [model, name, body] = ["", "", NO_BYTES];
  fields.read(reader, {
    [bytesTag(REQUEST.model)]: () => (model = reader.text(MAX_TEXT_BYTES)),
    [bytesTag(REQUEST.name)]: () => (name = reader.text(MAX_TEXT_BYTES)),
    [bytesTag(REQUEST.facts)]: () => facts.readEntry(fields),
    [bytesTag(REQUEST.body)]: () => (body = reader.bytes()),
  });
  return { model, name, facts: facts.texts, body };
}

/** The fields of a CallFunctionPart; those that are left out are as if they were empty. */
export function partFields(part: Partial<FunctionPart>): readonly WirePart[] {
  const { body = NO_BYTES, contentType = "", headers = {}, model = "", version = 0n, isWhole = false, error } = part;
  const failure = error && [
    integerField(ERROR.status, error.status),
    textField(ERROR.message, error.message),
    ...(error.details.length > 0 ? [bytesField(ERROR.details, error.details)] : []),
  ];
  return [
    bytesField(PART.body, body),
    textField(PART.contentType, contentType),
    ...textEntries(PART.headers, headers),
    textField(PART.model, model),
    integerField(PART.version, version),
    integerField(PART.isWhole, isWhole ? 1 : 0),
    ...(failure === undefined ? [] : [messageField(PART.error, failure)]),
  ];
}

/** Reads a CallFunctionPart, likewise. */
export function decodePart(bytes: Uint8Array): FunctionPart {
  const reader = new WireReader(bytes, "CallFunctionPart");
  const fields = new CountedFields(MAX_FIELDS);
  const headers = new TextMap(reader, "headers", MAX_HEADERS);
  let [contentType, model, body, version, isWhole] = ["", "", NO_BYTES, 0n, false];
  let error: FunctionPart["error"];
  fields.read(reader, {
    [bytesTag(PART.body)]: () => (body = reader.bytes()),
    [bytesTag(PART.contentType)]: () => (contentType = reader.text(MAX_TEXT_BYTES)),
    [bytesTag(PART.model)]: () => (model = reader.text(MAX_TEXT_BYTES)),
    [bytesTag(PART.headers)]: () => headers.readEntry(fields),
    [bytesTag(PART.error)]: () => (error = readError(reader.nested("Error"), fields)),
    [tagOf(PART.version, WIRE.varint)]: () => (version = reader.int64()),
    [tagOf(PART.isWhole, WIRE.varint)]: () => (isWhole = reader.uint32() !== 0),
  });
  return { body, contentType, headers: headers.texts, model, version, isWhole, error };
}

function readError(reader: WireReader, fields: CountedFields): PartError {
  let [status, message, details] = [0, "", NO_BYTES];
  fields.read(reader, {
    [tagOf(ERROR.status, WIRE.varint)]: () => (status = reader.uint32()),
    [bytesTag(ERROR.message)]: () => (message = reader.text(MAX_TEXT_BYTES)),
    [bytesTag(ERROR.details)]: () => {
      const bytes = reader.bytes();
      // Each two of them may be an object: so many tell nothing.
      details = bytes.length > MAX_TEXT_BYTES ? NO_BYTES : bytes;
    },
  });
  return { status, message, details };
}

function textEntries(field: number, texts: Texts): readonly WirePart[] {
  return Object.entries(texts).map(([name, text]) =>
    messageField(field, [textElement(MAP_ENTRY.key, name), textElement(MAP_ENTRY.value, text)]),
  );
}

/** A map of texts in a message; its limits hold for entries of the same name too. */
class TextMap {
  readonly texts = createRecord<string>();
  readonly #message: WireReader;
  readonly #name: string;
  readonly #limits: MapLimits;
  #entries = 0;
  #bytes = 0;

  constructor(message: WireReader, name: string, limits: MapLimits) {
    this.#message = message;
    this.#name = name;
    this.#limits = limits;
  }

  readEntry(fields: CountedFields): void {
    const entry = this.#message.nested("entry");
    this.#entries++;
    this.#bytes += entry.left;
    const { entries, bytes } = this.#limits;
    if (this.#entries > entries || this.#bytes > bytes)
      throw this.#message.malformed(`it has more than ${entries} ${this.#name}, or than ${bytes} bytes of them`);
    let [key, text] = ["", ""];
    fields.read(entry, {
      [bytesTag(MAP_ENTRY.key)]: () => (key = entry.text()),
      [bytesTag(MAP_ENTRY.value)]: () => (text = entry.text()),
    });
    this.texts[key] = text;
  }
}
