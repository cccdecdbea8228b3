import { failedPrecondition, publicText, ServingError } from "../errors.ts";
import { kindOf } from "../platform/text/kind-of.ts";
import { elementNumbers } from "../tensor/elements.ts";
import { toJsonText } from "../tensor/json-text.ts";
import { isObject } from "../tensor/record.ts";
import { isTensor, type Tensor } from "../tensor/tensor.ts";
import { checkMembers, type Refuse, refusal, toUsage } from "./given-members.ts";
import { sealImages, sealSpeech, toTranscript } from "./media-entries.ts";
import type { RawCall, RawEntry, RawResult, RawStream } from "./raw-entry.ts";
import { mapParts, partsOf } from "./raw-parts.ts";
import type { ChatContent, ChatMessage, ChatRequest } from "./text-request.ts";

/** Names of the functions, which are also those of their entries. */
export const TEXT_FUNCTIONS = ["chat", "complete", "embed", "rerank", "transcribe", "speak", "generateImage"] as const;
type TextFunctionName = (typeof TEXT_FUNCTIONS)[number];

/** Bytes of one part: the main thread reads them in one go. */
export const MAX_PART_BYTES = 4 * 1024 * 1024;
/** Calls of tools in one part: as many as the tools that clients may name. */
export const MAX_PART_CALLS = 128;

const FINISH_REASONS: readonly unknown[] = ["stop", "length", "tool_calls", "content_filter"];
/** Members of a part of an answer that is a text. */
const MEMBERS = {
  chat: ["text", "reasoning", "refusal", "toolCalls", "usage", "finishReason"],
  complete: ["text", "usage", "finishReason"],
  transcribe: ["text", "segments", "words", "language", "duration", "usage"],
} as const;
type SpeakingName = keyof typeof MEMBERS;
/** Such parts as errors show them. */
const EXAMPLES: Readonly<Record<SpeakingName, string>> = {
  chat: '{ text: "Hi", finishReason: "stop" }',
  complete: '{ text: "Hi", finishReason: "stop" }',
  transcribe: '{ text: "Hi", language: "en" }',
};

const SEALS: Readonly<Record<TextFunctionName, (returned: unknown) => RawResult | RawStream>> = {
  chat: (returned) => sealText(returned, "chat"),
  complete: (returned) => sealText(returned, "complete"),
  embed: (returned) => sealNumbers(returned, "embed"),
  rerank: (returned) => sealNumbers(returned, "rerank"),
  transcribe: (returned) => sealText(returned, "transcribe"),
  speak: sealSpeech,
  generateImage: sealImages,
};

type AnyFunction = (request: unknown, ctx: unknown) => unknown;

/**
 * The entries for the functions of a hook file that answer requests about texts; undefined if it has none. A module may
 * have something else than a function under such a name, any other hooks may not: throws `failed_precondition`.
 */
export function textEntries(hooks: object, file: string, isModule: boolean): ReadonlyMap<string, RawEntry> | undefined {
  const entries = new Map<string, RawEntry>();
  for (const name of TEXT_FUNCTIONS) {
    const { [name]: declared } = hooks as Readonly<Record<string, unknown>>;
    if (declared === undefined) continue;
    if (typeof declared === "function") entries.set(name, toEntry(name, hooks, declared as AnyFunction));
    else if (!isModule) throw failedPrecondition(`${file}: ${name} is ${kindOf(declared)}; expected a function.`);
  }
  return entries.size === 0 ? undefined : entries;
}

/** Checks for hooks that answer requests about texts. */
export function hasTextFunctions(hooks: object): boolean {
  return TEXT_FUNCTIONS.some((name) => typeof (hooks as Readonly<Record<string, unknown>>)[name] === "function");
}

function toEntry(name: TextFunctionName, hooks: object, declared: AnyFunction): RawEntry {
  const read = name === "transcribe" ? readSound : readRequest;
  return {
    place: name,
    call: (call: RawCall, ctx) => declared.call(hooks, read(call), ctx),
    seal: (returned) => ofHook(name, () => SEALS[name](returned)),
  };
}

/** An error about a value that a function gave is the function's, and not one of its client. */
function ofHook<Made>(name: TextFunctionName, make: () => Made): Made {
  try {
    return make();
  } catch (cause) {
    if (cause instanceof ServingError && cause.code === "internal") throw cause;
    const message = `What the hook ${name} gave cannot be sent: ${publicText(cause)}`;
    throw new ServingError("internal", message, { cause });
  }
}

/**
 * The request that a protocol has checked, with each message's texts as one, and the bytes of images and sound. Those
 * that the server has fetched are behind the request, in the order of their addresses.
 */
function readRequest({ facts: { fetched = null, choice = 0 }, body }: RawCall): unknown {
  const told: Fetched = fetched === null ? { requestBytes: body.length, media: [] } : JSON.parse(String(fetched));
  const sent = JSON.parse(body.toString("utf8", 0, told.requestBytes)) as Pick<ChatRequest, "messages" | "seed">;
  const request = sent.seed === undefined ? sent : { ...sent, seed: seedOf(sent.seed, Number(choice)) };
  const { messages } = request;
  if (messages === undefined) return request;
  let at = told.requestBytes;
  const media = told.media.values();
  const next = (type: MediaContent["type"]): MediaContent => {
    const { value = { mediaType: "", bytes: 0 } } = media.next();
    at += value.bytes;
    return { type, mediaType: value.mediaType, bytes: new Uint8Array(body.subarray(at - value.bytes, at)) };
  };
  return { ...request, messages: messages.map((message) => withContent(message, next)) };
}

/** Of several choices each has a seed of its own, or they would be one and the same: behind the last one is 0. */
function seedOf(seed: number, choice: number): number {
  const left = Number.MAX_SAFE_INTEGER - seed;
  return choice <= left ? seed + choice : choice - left - 1;
}

/** Facts about what the server has fetched. */
interface Fetched {
  readonly requestBytes: number;
  readonly media: readonly { readonly mediaType: string; readonly bytes: number }[];
}

type MediaContent = Exclude<ChatContent, { readonly type: "text" }>;
type NextMedia = (type: MediaContent["type"]) => MediaContent;

/** The request that is among the facts, with the file that is the body. */
function readSound({ facts, body }: RawCall): unknown {
  const { mediaType, ...request } = JSON.parse(String(facts.request));
  return { ...request, audio: { bytes: new Uint8Array(body), mediaType } };
}

function withContent(message: ChatMessage, next: NextMedia): ChatMessage {
  const texts = message.content.map((each) => (each.type === "text" ? each.text : ""));
  return { ...message, text: texts.join(""), content: message.content.map((each) => withBytes(each, next)) };
}

function withBytes(content: ChatContent, next: NextMedia): ChatContent {
  if (content.type === "text") return content;
  if ("url" in content) return next(content.type);
  const { base64, ...media } = content as ChatContent & { readonly base64?: string };
  return { ...media, bytes: new Uint8Array(Buffer.from(base64 ?? "", "base64")) } as ChatContent;
}

function sealText(returned: unknown, name: SpeakingName): RawResult | RawStream {
  const open = partsOf(returned);
  const contentType = "application/x-ndjson";
  if (open === undefined) return { status: 200, contentType, body: toPart(returned, "returned", name) };
  const toYielded = (value: unknown) => ofHook(name, () => toPart(value, "yielded", name));
  return { status: 200, contentType, open: () => mapParts(open(), toYielded) };
}

/** A part as JSON, which the server trusts no more than anything else of this thread. */
function toPart(value: unknown, verb: string, name: SpeakingName): Uint8Array {
  const refuse = refusal(name, verb);
  if (typeof value !== "string" && !isObject(value)) {
    const missing = value === undefined ? " (is a return, or an await, missing?)" : "";
    throw refuse(`${kindOf(value)}${missing}`, `a text, or an object such as ${EXAMPLES[name]}`);
  }
  const part: Readonly<Record<string, unknown>> = typeof value === "string" ? { text: value } : value;
  checkMembers(part, MEMBERS[name], refuse);
  for (const member of ["text", "reasoning", "refusal"]) {
    const text = part[member];
    if (text !== undefined && typeof text !== "string") throw refuse(`${kindOf(text)} as ${member}`, "a text");
  }
  const { finishReason, usage, toolCalls } = part;
  if (finishReason !== undefined && !FINISH_REASONS.includes(finishReason))
    throw refuse(`the finishReason ${String(finishReason).slice(0, 100)}`, FINISH_REASONS.join(", "));
  const made = { ...part, toolCalls: toCalls(toolCalls, refuse), usage: toUsage(usage, refuse) };
  const spans = name === "transcribe" && toTranscript(part, refuse);
  const bytes = Buffer.from(toJsonText({ ...made, ...spans }));
  if (bytes.length <= MAX_PART_BYTES) return bytes;
  throw refuse(`${bytes.length} bytes at once`, `${MAX_PART_BYTES} at most; yield a long text in pieces`);
}

function toCalls(calls: unknown, refuse: Refuse): object[] | undefined {
  if (calls === undefined) return undefined;
  if (!Array.isArray(calls)) throw refuse(`${kindOf(calls)} as toolCalls`, "a list of calls");
  if (calls.length > MAX_PART_CALLS)
    throw refuse(`${calls.length} toolCalls at once`, `${MAX_PART_CALLS} at most; yield more in further parts`);
  return calls.map((call, index) => {
    const place = `toolCalls[${index}]`;
    if (!isObject(call)) throw refuse(`${kindOf(call)} as ${place}`, 'an object such as { name: "f", arguments: {} }');
    const { id, name, arguments: given = "" } = call;
    if (id !== undefined && typeof id !== "string") throw refuse(`${kindOf(id)} as ${place}.id`, "a text");
    if (name !== undefined && typeof name !== "string") throw refuse(`${kindOf(name)} as ${place}.name`, "a text");
    if (typeof given !== "string" && !isObject(given))
      throw refuse(`${kindOf(given)} as ${place}.arguments`, "JSON text, or an object that becomes it");
    return { id, name, arguments: typeof given === "string" ? given : toJsonText(given) };
  });
}

/** Tokens that a function does not tell. */
const NOT_TOLD = 0xffffffff;

/** Rows, columns and tokens as three uint32 and a fourth that is 0, then the numbers as float32. */
function sealNumbers(returned: unknown, name: "embed" | "rerank"): RawResult {
  const refuse = refusal(name, "returned");
  const isVectors = name === "embed";
  const [member, example] = isVectors
    ? (["embeddings", "a list of vectors with one for each text, or a tensor of rank 2"] as const)
    : (["scores", "a list with one number for each document"] as const);
  const isBare = Array.isArray(returned) || ArrayBuffer.isView(returned) || isTensor(returned);
  const whole = isBare ? { [member]: returned } : returned;
  if (!isObject(whole)) throw refuse(kindOf(returned), example);
  checkMembers(whole, [member, "usage"], refuse);
  const usage = toUsage(whole.usage, refuse);
  const { rows, columns, numbers } = toRows(whole[member], isVectors, (what) => refuse(what, example));
  const body = new ArrayBuffer(16 + 4 * numbers.length);
  new Uint32Array(body, 0, 4).set([rows, columns, usage?.promptTokens ?? NOT_TOLD]);
  new Float32Array(body, 16).set(numbers);
  return { status: 200, contentType: "application/octet-stream", body: new Uint8Array(body) };
}

interface Rows {
  readonly rows: number;
  readonly columns: number;
  readonly numbers: ArrayLike<number>;
}

function toRows(value: unknown, isVectors: boolean, refuse: (what: string) => ServingError): Rows {
  const list = isVectors ? ofLists : ofList;
  const made = isTensor(value) ? ofTensor(value, isVectors) : list(value, isVectors ? "embeddings" : "scores", refuse);
  if (made === undefined) throw refuse(isTensor(value) ? `a tensor of shape [${value.shape}]` : kindOf(value));
  const { numbers, rows, columns } = made;
  if (rows * columns !== numbers.length) throw refuse("vectors of different lengths");
  return made;
}

/** A vector for each row, or a single number. */
function ofTensor(tensor: Tensor, isVectors: boolean): Rows | undefined {
  const [rows = 0, columns = 1] = tensor.shape;
  const isFitting = isVectors ? tensor.shape.length === 2 : tensor.shape.length <= 2 && columns === 1;
  return isFitting ? { rows, columns, numbers: elementNumbers(tensor, "The hook") } : undefined;
}

type ReadList = (value: unknown, place: string, refuse: (what: string) => ServingError) => Rows | undefined;

const ofList: ReadList = (value, place, refuse) => {
  if (Array.isArray(value)) {
    // It may have holes, which every() does not see.
    const wrong = value.findIndex((each) => typeof each !== "number");
    if (wrong !== -1) throw refuse(`${kindOf(value[wrong])} as ${place}[${wrong}]`);
  } else if (!(value instanceof Float32Array) && !(value instanceof Float64Array)) return undefined;
  return { rows: value.length, columns: 1, numbers: value };
};

const ofLists: ReadList = (value, place, refuse) => {
  if (!Array.isArray(value)) return undefined;
  const lists = value.map((each, row) => ofList(each, `${place}[${row}]`, refuse));
  const columns = lists[0]?.rows ?? 0;
  const numbers = new Float64Array(columns * lists.length);
  for (const [row, list] of lists.entries()) {
    if (list === undefined) return undefined;
    if (list.rows !== columns) return { rows: lists.length, columns: -1, numbers };
    for (let at = 0; at < columns; at++) numbers[row * columns + at] = list.numbers[at] as number;
  }
  return { rows: lists.length, columns, numbers };
};
