import { invalidArgument } from "../../errors.ts";
import { defineJob } from "../../platform/codec-host/job.ts";
import { cutText } from "../../platform/text/cut-text.ts";
import { kindOf } from "../../platform/text/kind-of.ts";
import { TEXT_FUNCTIONS } from "../../serving/infer-text.ts";
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
import { createRecord, isObject } from "../../tensor/record.ts";

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

/** Reads a CallFunctionRequest, whose body views `bytes`; throws `invalid_argument` for any other bytes. */
export function decodeCall(bytes: Uint8Array): FunctionCall {
  const reader = new WireReader(bytes, "CallFunctionRequest");
  const facts = createRecord<string>();
  let [model, name, body] = ["", "", NO_BYTES];
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === bytesTag(REQUEST.model)) model = reader.text();
    else if (tag === bytesTag(REQUEST.name)) name = reader.text();
    else if (tag === bytesTag(REQUEST.facts)) readEntry(reader, facts);
    else if (tag === bytesTag(REQUEST.body)) body = reader.bytes();
    else reader.skip(tag);
  }
  return { model, name, facts, body };
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
  const headers = createRecord<string>();
  const texts = { [PART.contentType]: "", [PART.model]: "" };
  let [body, version, isWhole] = [NO_BYTES, 0n, false];
  let error: FunctionPart["error"];
  while (reader.hasMore()) {
    const tag = reader.tag();
    const field = tag >>> 3;
    if (tag === bytesTag(PART.body)) body = reader.bytes();
    else if (tag === tagOf(PART.version, WIRE.varint)) version = reader.int64();
    else if (tag === tagOf(PART.isWhole, WIRE.varint)) isWhole = reader.uint32() !== 0;
    else if (tag === bytesTag(PART.headers)) readEntry(reader, headers);
    else if (tag === bytesTag(PART.error)) error = readError(reader.nested("Error"));
    else if ((tag & 7) === WIRE.bytes && field in texts) texts[field as keyof typeof texts] = reader.text();
    else reader.skip(tag);
  }
  return { body, contentType: texts[PART.contentType], headers, model: texts[PART.model], version, isWhole, error };
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

function readEntry(message: WireReader, texts: Record<string, string>): void {
  const entry = message.nested("entry");
  let [key, text] = ["", ""];
  while (entry.hasMore()) {
    const tag = entry.tag();
    if (tag === bytesTag(MAP_ENTRY.key)) key = entry.text();
    else if (tag === bytesTag(MAP_ENTRY.value)) text = entry.text();
    else entry.skip(tag);
  }
  texts[key] = text;
}

type FunctionName = (typeof TEXT_FUNCTIONS)[number];
type Check = (value: unknown, place: string) => void;
type Checks = Readonly<Record<string, Check>>;

/**
 * Checks a call that a client has written by itself, so that a function gets what its type promises, as it does from
 * the protocols. Throws `invalid_argument` with the place.
 */
export function checkCall({ name, facts, body }: FunctionCall): void {
  if (!isFunction(name))
    throw invalidArgument(`There is no function ${cutText(name)}; expected ${TEXT_FUNCTIONS.join(", ")}.`);
  const known: readonly string[] = FACTS[name] ?? [];
  const unknown = Object.keys(facts).find((each) => !known.includes(each));
  if (unknown !== undefined)
    throw wrong(`facts.${cutText(unknown)}`, "a fact", known.length === 0 ? "none" : known.join(", "));
  if (facts.choice !== undefined && !/^\d{1,6}$/.test(facts.choice))
    throw wrong("facts.choice", cutText(facts.choice), "a whole number from 0 on");
  if (name === "transcribe") {
    if (body.length === 0) throw wrong("body", "empty", "the bytes of a sound");
    checkMembers(readJson(facts.request ?? "", "facts.request"), "request", REQUESTS.transcribe);
    return;
  }
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString(
    "utf8",
    0,
    requestBytes(facts, body),
  );
  checkMembers(readJson(text, "body"), "body", REQUESTS[name]);
}

/** Facts that a call may have. */
const FACTS: Readonly<Partial<Record<FunctionName, readonly string[]>>> = {
  chat: ["fetched", "choice"],
  complete: ["choice"],
  transcribe: ["request"],
};

/** {@link checkCall} for a codec thread. */
export const checkCallJob = defineJob(import.meta.url, "checkCallJob", checkCall);

function isFunction(name: string): name is FunctionName {
  return (TEXT_FUNCTIONS as readonly string[]).includes(name);
}

/** Bytes of the request before the files behind it. */
function requestBytes({ fetched }: FunctionCall["facts"], body: Uint8Array): number {
  if (fetched === undefined) return body.length;
  const told = readJson(fetched, "facts.fetched");
  checkMembers(told, "facts.fetched", {
    requestBytes: size,
    media: listOf((one, place) => checkMembers(one, place, { mediaType: text, bytes: size }), 0),
  });
  const { requestBytes: own, media } = told as { requestBytes: number; media: readonly { bytes: number }[] };
  const all = media.reduce((sum, { bytes }) => sum + bytes, own);
  if (all !== body.length) throw wrong("body", `${body.length} bytes`, `${all}, as facts.fetched has it`);
  return own;
}

function readJson(written: string, place: string): unknown {
  try {
    return JSON.parse(written);
  } catch {
    throw wrong(place, "no JSON", "an object");
  }
}

function checkMembers(value: unknown, place: string, checks: Checks): void {
  object(value, place);
  const members = value as Readonly<Record<string, unknown>>;
  for (const [name, check] of Object.entries(checks)) check(members[name], `${place}.${name}`);
}

const text: Check = (value, place) => expect(typeof value === "string", value, place, "a text");
const object: Check = (value, place) => expect(isObject(value), value, place, "an object");
const size: Check = (value, place) =>
  expect(Number.isSafeInteger(value) && (value as number) >= 0, value, place, "a number of bytes");
const count: Check = (value, place) =>
  expect(Number.isSafeInteger(value) && (value as number) > 0, value, place, "a whole number from 1 on");

function expect(isRight: boolean, value: unknown, place: string, expected: string): void {
  if (!isRight) throw wrong(place, kindOf(value), expected);
}

function listOf(check: Check, atLeast: 0 | 1): Check {
  return (value, place) => {
    if (!Array.isArray(value)) throw wrong(place, kindOf(value), "a list");
    if (value.length < atLeast) throw wrong(place, "empty", "a list with one element at least");
    for (const [index, each] of value.entries()) check(each, `${place}[${index}]`);
  };
}

const ROLES: readonly unknown[] = ["system", "user", "assistant", "tool"];
const TYPES: readonly unknown[] = ["text", "image", "audio"];

const content: Check = (value, place) => {
  object(value, place);
  const one = value as Readonly<Record<string, unknown>>;
  if (!TYPES.includes(one.type)) throw wrong(`${place}.type`, kindOf(one.type), TYPES.join(", "));
  if (one.type === "text") text(one.text, `${place}.text`);
  else if (one.url === undefined) checkMembers(one, place, { mediaType: text, base64: text });
};

const message: Check = (value, place) => {
  checkMembers(value, place, { content: listOf(content, 0), toolCalls: listOf(object, 0) });
  const { role } = value as { readonly role?: unknown };
  if (!ROLES.includes(role)) throw wrong(`${place}.role`, kindOf(role), ROLES.join(", "));
};

const TEXT_CHOICES: Checks = { stop: listOf(text, 0), more: object };

/** Members that the requests of functions have in any case, with what they are. */
const REQUESTS: Readonly<Record<FunctionName, Checks>> = {
  chat: { ...TEXT_CHOICES, messages: listOf(message, 1), tools: listOf(object, 0), responseFormat: object },
  complete: { ...TEXT_CHOICES, prompt: text },
  embed: { texts: listOf(text, 1), more: object },
  rerank: { query: text, documents: listOf(text, 1), more: object },
  transcribe: { task: text, mediaType: text, timestamps: listOf(text, 0), more: object },
  speak: { text, format: text, more: object },
  generateImage: { prompt: text, count, more: object },
};

function wrong(place: string, came: string, expected: string) {
  return invalidArgument(`${place} is ${came}; expected ${expected}.`);
}
