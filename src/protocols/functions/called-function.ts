import { invalidArgument } from "../../errors.ts";
import { defineJob } from "../../platform/codec-host/job.ts";
import { cutText } from "../../platform/text/cut-text.ts";
import { kindOf } from "../../platform/text/kind-of.ts";
import { TEXT_FUNCTIONS } from "../../serving/infer-text.ts";
import { imageType } from "../../tensor/media/image-format.ts";
import { soundType } from "../../tensor/media/sound-format.ts";
import { isObject } from "../../tensor/record.ts";
import { imageContent, soundContent } from "../text/chat-members.ts";
import { MAX_ADDRESSES } from "../text/media-addresses.ts";
import { MAX_OBJECTS, parseObject } from "../text/members.ts";
import { checkTexts } from "../text/text-input.ts";
import { MAX_IMAGES, MAX_STOPS } from "../text/text-wish.ts";
import { decodeCall, type FunctionCall } from "./function-messages.ts";

type FunctionName = (typeof TEXT_FUNCTIONS)[number];
type Check = (value: unknown, place: string) => void;
type Checks = Readonly<Record<string, Check>>;
type Values = Readonly<Record<string, unknown>>;

/**
 * Reads a CallFunctionRequest, whose body views `message`. A client may have written it by itself, so it is checked
 * that a function gets what its type promises, as it does from the protocols. Throws `invalid_argument` with the place.
 */
export function readCall(message: Uint8Array): FunctionCall {
  const call = decodeCall(message);
  checkCall(call);
  return call;
}

/** {@link readCall} for a codec thread. */
export const readCallJob = defineJob(import.meta.url, "readCallJob", readCall);

function checkCall({ name, facts, body }: FunctionCall): void {
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
    checkMembers(readJson(facts.request, "facts.request"), "request", REQUESTS.transcribe);
    return;
  }
  const files = facts.fetched === undefined ? [] : readFiles(facts.fetched, body);
  const requestBytes = files.reduce((left, { bytes }) => left - bytes.length, body.length);
  // Protocols add members to what their clients send: the parts of each message, for example.
  const request = parseObject(body.subarray(0, requestBytes), "body", 2);
  checkMembers(request, "body", REQUESTS[name]);
  if (name === "chat") checkFiles(request.messages as readonly Message[], files);
}

/** Facts that a call may have. */
const FACTS: Readonly<Partial<Record<FunctionName, readonly string[]>>> = {
  chat: ["fetched", "choice"],
  complete: ["choice"],
  transcribe: ["request"],
};

function isFunction(name: string): name is FunctionName {
  return (TEXT_FUNCTIONS as readonly string[]).includes(name);
}

/** An image or a sound behind a request. */
interface File {
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

interface Message {
  readonly content: readonly Values[];
}

/** The files behind the request. */
function readFiles(fetched: string, body: Uint8Array): readonly File[] {
  const told = readJson(fetched, "facts.fetched");
  checkMembers(told, "facts.fetched", {
    requestBytes: size,
    media: listOf((one, place) => checkMembers(one, place, { mediaType: text, bytes: size }), 0, MAX_ADDRESSES),
  });
  const { requestBytes, media } = told as {
    readonly requestBytes: number;
    readonly media: readonly { readonly mediaType: string; readonly bytes: number }[];
  };
  const all = media.reduce((sum, { bytes }) => sum + bytes, requestBytes);
  if (all !== body.length) throw wrong("body", `${body.length} bytes`, `${all}, as facts.fetched has it`);
  let at = requestBytes;
  return media.map(({ mediaType, bytes }) => {
    at += bytes;
    return { mediaType, bytes: body.subarray(at - bytes, at) };
  });
}

/** First bytes by which a file is known. */
const HEAD_BYTES = 256;

/** Each address has its file, which is what is told of it. */
function checkFiles(messages: readonly Message[], files: readonly File[]): void {
  const addresses = messages.flatMap(({ content }) => content.filter(isAddress));
  if (addresses.length !== files.length)
    throw wrong("facts.fetched", `about ${files.length} files`, `${addresses.length}, one for each url of body`);
  for (const [index, { mediaType, bytes }] of files.entries()) {
    const head = bytes.subarray(0, HEAD_BYTES);
    const found = addresses[index]?.type === "image" ? imageType(head) : soundType(head);
    if (found !== mediaType)
      throw wrong(`facts.fetched.media[${index}]`, cutText(mediaType), found ?? "a file of a known format");
  }
}

function isAddress({ type, url }: Values): boolean {
  return type !== "text" && url !== undefined;
}

function readJson(written = "", place: string): Values {
  return parseObject(Buffer.from(written), place);
}

function checkMembers(value: unknown, place: string, checks: Checks): void {
  object(value, place);
  const members = value as Values;
  for (const [name, check] of Object.entries(checks)) check(members[name], `${place}.${name}`);
}

const text: Check = (value, place) => expect(typeof value === "string", value, place, "a text");
const object: Check = (value, place) => expect(isObject(value), value, place, "an object");
const size: Check = (value, place) => expect(isWhole(value, 0), value, place, "a number of bytes");
const integer: Check = (value, place) => expect(Number.isSafeInteger(value), value, place, "a whole number");
const count: Check = (value, place) => expect(isWhole(value, 0), value, place, "a whole number from 0 on");
// JSON has numbers that are infinite once they are read.
const number: Check = (value, place) => expect(Number.isFinite(value), value, place, "a number");
const positive: Check = (value, place) => {
  expect(Number.isFinite(value) && Number(value) >= 0, value, place, "a number from 0 on");
};
const imageCount: Check = (value, place) => {
  const isRight = isWhole(value, 1) && Number(value) <= MAX_IMAGES;
  expect(isRight, value, place, `a whole number from 1 to ${MAX_IMAGES}`);
};
const texts: Check = (value, place) => {
  listOf(text, 1)(value, place);
  checkTexts(value as readonly unknown[], place);
};

function isWhole(value: unknown, from: number): boolean {
  return Number.isSafeInteger(value) && Number(value) >= from;
}

function optional(check: Check): Check {
  return (value, place) => value === undefined || check(value, place);
}

function expect(isRight: boolean, value: unknown, place: string, expected: string): void {
  if (!isRight) throw wrong(place, typeof value === "number" ? String(value) : kindOf(value), expected);
}

function listOf(check: Check, atLeast: 0 | 1, most = MAX_OBJECTS): Check {
  return (value, place) => {
    if (!Array.isArray(value)) throw wrong(place, kindOf(value), "a list");
    if (value.length < atLeast) throw wrong(place, "empty", "a list with one element at least");
    if (value.length > most) throw wrong(place, `a list of ${value.length} items`, `${most} at most`);
    for (const [index, each] of value.entries()) check(each, `${place}[${index}]`);
  };
}

const ROLES: readonly unknown[] = ["system", "user", "assistant", "tool"];
const TYPES: readonly unknown[] = ["text", "image", "audio"];

const content: Check = (value, place) => {
  object(value, place);
  const one = value as Values;
  if (!TYPES.includes(one.type)) throw wrong(`${place}.type`, kindOf(one.type), TYPES.join(", "));
  if (one.type === "text") text(one.text, `${place}.text`);
  else if (isAddress(one)) text(one.url, `${place}.url`);
  else checkMedia(one, place);
};

function checkMedia(one: Values, place: string): void {
  checkMembers(one, place, { mediaType: text, base64: text });
  const { type, mediaType, base64 } = one as Readonly<Record<"type" | "mediaType" | "base64", string>>;
  const from = `${place}.base64`;
  const found =
    type === "image" ? imageContent(base64, from) : soundContent(base64, mediaType.replace("audio/", ""), from);
  if ("mediaType" in found && found.mediaType !== mediaType)
    throw wrong(`${place}.mediaType`, cutText(mediaType), `${found.mediaType}, as its first bytes have it`);
}

const message: Check = (value, place) => {
  checkMembers(value, place, { content: listOf(content, 0), toolCalls: listOf(object, 0), reasoning: optional(text) });
  const { role } = value as { readonly role?: unknown };
  if (!ROLES.includes(role)) throw wrong(`${place}.role`, kindOf(role), ROLES.join(", "));
};

const TEXT_CHOICES: Checks = {
  ...{ maxTokens: optional(count), temperature: optional(positive), topP: optional(positive) },
  ...{ presencePenalty: optional(number), frequencyPenalty: optional(number), seed: optional(integer) },
  ...{ stop: listOf(text, 0, MAX_STOPS), user: optional(text), more: object },
};

/** Members of the requests of functions, with what they are. */
const REQUESTS: Readonly<Record<FunctionName, Checks>> = {
  chat: {
    ...TEXT_CHOICES,
    messages: listOf(message, 1, Number.POSITIVE_INFINITY),
    tools: listOf(object, 0),
    responseFormat: object,
  },
  complete: { ...TEXT_CHOICES, prompt: text, suffix: optional(text) },
  embed: { texts, dimensions: optional(count), more: object },
  rerank: { query: text, documents: texts, more: object },
  transcribe: {
    ...{ task: text, mediaType: text, timestamps: listOf(text, 0), more: object },
    ...{ language: optional(text), prompt: optional(text), temperature: optional(positive) },
  },
  speak: { text, voice: optional(text), speed: optional(positive), format: text, more: object },
  generateImage: { prompt: text, count: imageCount, more: object },
};

function wrong(place: string, came: string, expected: string) {
  return invalidArgument(`${place} is ${came}; expected ${expected}.`);
}
