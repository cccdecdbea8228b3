import { invalidArgument } from "../../errors.ts";
import { TEXT_FUNCTIONS } from "../../serving/infer-text.ts";
import { defineJob } from "../../platform/codec-host/job.ts";
import { cutText } from "../../platform/text/cut-text.ts";
import { kindOf } from "../../platform/text/kind-of.ts";
import { isObject } from "../../tensor/record.ts";
import type { FunctionCall } from "./function-messages.ts";

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
