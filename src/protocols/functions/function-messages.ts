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
  readonly error?: { readonly status: number; readonly message: string } | undefined;
}

const REQUEST = { model: 1, name: 2, facts: 3, body: 4 } as const;
const PART = { body: 1, contentType: 2, headers: 3, model: 4, version: 5, isWhole: 6, error: 7 } as const;
const ERROR = { status: 1, message: 2 } as const;

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

/** Reads a CallFunctionRequest, whose body views `bytes`; throws `invalid_argument` for any other bytes. */
export function decodeCall(bytes: Uint8Array): FunctionCall {
  const reader = new WireReader(bytes, "CallFunctionRequest");
  const facts = new TextMap(reader, "facts", MAX_FACTS);
  let [model, name, body] = ["", "", NO_BYTES];
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === bytesTag(REQUEST.model)) model = reader.text();
    else if (tag === bytesTag(REQUEST.name)) name = reader.text();
    else if (tag === bytesTag(REQUEST.facts)) facts.readEntry();
    else if (tag === bytesTag(REQUEST.body)) body = reader.bytes();
    else reader.skip(tag);
  }
  return { model, name, facts: facts.texts, body };
}

/** The fields of a CallFunctionPart; those that are left out are as if they were empty. */
export function partFields(part: Partial<FunctionPart>): readonly WirePart[] {
  const { body = NO_BYTES, contentType = "", headers = {}, model = "", version = 0n, isWhole = false, error } = part;
  const failure = error && [integerField(ERROR.status, error.status), textField(ERROR.message, error.message)];
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
  const headers = new TextMap(reader, "headers", MAX_HEADERS);
  const texts = { [PART.contentType]: "", [PART.model]: "" };
  let [body, version, isWhole] = [NO_BYTES, 0n, false];
  let error: FunctionPart["error"];
  while (reader.hasMore()) {
    const tag = reader.tag();
    const field = tag >>> 3;
    if (tag === bytesTag(PART.body)) body = reader.bytes();
    else if (tag === tagOf(PART.version, WIRE.varint)) version = reader.int64();
    else if (tag === tagOf(PART.isWhole, WIRE.varint)) isWhole = reader.uint32() !== 0;
    else if (tag === bytesTag(PART.headers)) headers.readEntry();
    else if (tag === bytesTag(PART.error)) error = readError(reader.nested("Error"));
    else if ((tag & 7) === WIRE.bytes && field in texts) texts[field as keyof typeof texts] = reader.text();
    else reader.skip(tag);
  }
  const { [PART.contentType]: contentType, [PART.model]: model } = texts;
  return { body, contentType, headers: headers.texts, model, version, isWhole, error };
}

function readError(reader: WireReader): FunctionPart["error"] {
  let [status, message] = [0, ""];
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === tagOf(ERROR.status, WIRE.varint)) status = reader.uint32();
    else if (tag === bytesTag(ERROR.message)) message = reader.text();
    else reader.skip(tag);
  }
  return { status, message };
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

  readEntry(): void {
    const entry = this.#message.nested("entry");
    this.#entries++;
    this.#bytes += entry.left;
    const { entries, bytes } = this.#limits;
    if (this.#entries > entries || this.#bytes > bytes)
      throw this.#message.malformed(`it has more than ${entries} ${this.#name}, or than ${bytes} bytes of them`);
    let [key, text] = ["", ""];
    while (entry.hasMore()) {
      const tag = entry.tag();
      if (tag === bytesTag(MAP_ENTRY.key)) key = entry.text();
      else if (tag === bytesTag(MAP_ENTRY.value)) text = entry.text();
      else entry.skip(tag);
    }
    this.texts[key] = text;
  }
}
