import { ServingError } from "../errors.ts";
import { MAX_PART_BYTES, MAX_PART_CALLS } from "../hooks/text-entries.ts";
import type { FinishReason, TextUsage, ToolCallPart } from "../hooks/text-request.ts";
import type { RawHead } from "../pipeline/infer-request.ts";
import { isObject } from "../tensor/record.ts";
import { inferRaw, type RawResponse } from "./infer-raw.ts";
import type { CallOptions, Lease } from "./inference-service.ts";

export { TEXT_FUNCTIONS } from "../hooks/text-entries.ts";
export type { FinishReason, TextUsage } from "../hooks/text-request.ts";

/** A checked part of a text, or all of it. */
export interface TextPart {
  readonly text?: string;
  readonly reasoning?: string;
  readonly refusal?: string;
  /** Arguments are texts. */
  readonly toolCalls?: readonly (ToolCallPart & { readonly arguments: string })[];
  readonly usage?: TextUsage;
  readonly finishReason?: FinishReason;
  /** Of a sound: its segments and words with their seconds, its language, and its own length in seconds. */
  readonly segments?: readonly TimedText<"text">[];
  readonly words?: readonly TimedText<"word">[];
  readonly language?: string;
  readonly duration?: number;
}

/** A text, and the seconds of a sound in which it is spoken. */
export type TimedText<Name extends string = "text"> = Readonly<Record<"start" | "end", number> & Record<Name, string>>;

/** Headers that hooks set. */
type Headers = Readonly<Record<string, string>>;

/** A request for a function of hooks about texts. */
interface TextCall {
  /** The name of the function. */
  readonly entry: string;
  /** The request that the function gets, as JSON; of one with a file, the file. */
  readonly request: Uint8Array;
  /** The request with a file, without the file; absent = it has none. */
  readonly facts?: RawHead["facts"];
  readonly call: CallOptions;
}

/** A {@link TextCall} whose answer may come in parts. */
interface PartedCall extends TextCall {
  /** Takes each part, or the whole answer: the next one is made once it resolves. */
  readonly take: (part: TextPart, headers: Headers) => Promise<void>;
}

/** Calls a function that answers with a text, whole or in parts; throws as {@link inferRaw} does. */
export async function inferText(
  lease: Lease,
  { entry, facts = NO_FACTS, request, call, take }: PartedCall,
): Promise<void> {
  const write = ({ body, metadata }: RawResponse) => take(readPart(body), metadata);
  const answer = await inferRaw(lease, { entry, facts, body: request, call, write });
  if (answer.parts === undefined && answer.body.length > 0) await write(answer);
}

const NO_FACTS = {};

/** Bytes of the words about pictures: hooks tell no more. */
const MAX_TOLD_BYTES = 4 * 1024 * 1024;
const TEXTS = ["text", "reasoning", "refusal", "finishReason", "language"];

/** Nothing from a hook thread, or from another server, is trusted. */
function readPart(body: Uint8Array): TextPart {
  if (body.length > MAX_PART_BYTES)
    throw new ServingError(
      "unavailable",
      `A part of the answer has ${body.length} bytes; expected ${MAX_PART_BYTES} at most.`,
    );
  try {
    const part: unknown = JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString());
    if (isPart(part)) return part;
  } catch {
    // It is no JSON.
  }
  throw malformed();
}

function isPart(part: unknown): part is TextPart {
  if (!isObject(part) || !TEXTS.every((name) => isTextOrAbsent(part[name]))) return false;
  if (part.duration !== undefined && !Number.isFinite(part.duration)) return false;
  return hasCalls(part) && hasUsage(part) && isTimed(part.segments, "text") && isTimed(part.words, "word");
}

function isTimed(list: unknown = [], name: string): boolean {
  const isOne = (one: unknown) =>
    isObject(one) && Number.isFinite(one.start) && Number.isFinite(one.end) && typeof one[name] === "string";
  return Array.isArray(list) && list.every(isOne);
}

function isTextOrAbsent(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}

function hasCalls({ toolCalls = [] }: { readonly toolCalls?: unknown }): boolean {
  if (!Array.isArray(toolCalls) || toolCalls.length > MAX_PART_CALLS) return false;
  return toolCalls.every(
    (call) =>
      isObject(call) && typeof call.arguments === "string" && isTextOrAbsent(call.name) && isTextOrAbsent(call.id),
  );
}

function hasUsage({ usage = {} }: { readonly usage?: unknown }): boolean {
  return isObject(usage) && [usage.promptTokens, usage.completionTokens].every(isCountOrAbsent);
}

function isCountOrAbsent(value: unknown): boolean {
  return value === undefined || typeof value === "number";
}

function malformed(): ServingError {
  return new ServingError("unavailable", "The hooks' thread sent a malformed answer.");
}

/** Rows of numbers that a function has made. */
export interface NumbersAnswer {
  readonly rows: number;
  readonly columns: number;
  /** In row-major order. */
  readonly numbers: Float32Array;
  /** Undefined = the function does not tell. */
  readonly promptTokens?: number | undefined;
  readonly headers: Headers;
}

/** Bytes before the numbers: rows, columns and tokens as uint32, and four more. */
const HEAD_BYTES = 16;
/** Tokens that a function does not tell. */
const NOT_TOLD = 0xffffffff;

/** Calls a function that answers with one row of numbers for each text; throws as {@link inferRaw} does. */
export async function inferNumbers(
  lease: Lease,
  { entry, request, call }: TextCall,
  wanted: number,
): Promise<NumbersAnswer> {
  const { body, metadata: headers } = await inferRaw(lease, { entry, facts: NO_FACTS, body: request, call });
  const numbers = new Float32Array(Math.max(0, Math.floor((body.length - HEAD_BYTES) / 4)));
  if (body.length < HEAD_BYTES) throw malformed();
  // It may begin anywhere in a message.
  new Uint8Array(numbers.buffer).set(body.subarray(HEAD_BYTES, HEAD_BYTES + numbers.byteLength));
  const head = new DataView(body.buffer, body.byteOffset, HEAD_BYTES);
  const [rows = 0, columns = 0, tokens = 0] = [0, 4, 8].map((at) => head.getUint32(at, true));
  const isScores = entry === "rerank";
  if (rows * columns !== numbers.length || (isScores && columns !== 1)) throw malformed();
  if (rows !== wanted)
    throw new ServingError(
      "internal",
      `The hook ${entry} gave ${rows} results for ${wanted} texts; expected one for each.`,
    );
  return { rows, columns, numbers, promptTokens: tokens === NOT_TOLD ? undefined : tokens, headers };
}

/** A picture that a function has made. */
interface MadeImage {
  readonly bytes: Uint8Array;
  readonly revisedPrompt?: string | undefined;
}

/** Pictures that a function has made. */
export interface ImagesAnswer {
  readonly images: readonly MadeImage[];
  /** Undefined = the function does not tell. */
  readonly usage: TextUsage | undefined;
  readonly headers: Headers;
}

/** Calls the function that makes so many pictures; throws as {@link inferRaw} does. */
export async function inferImages(
  lease: Lease,
  request: Uint8Array,
  call: CallOptions,
  wanted: number,
): Promise<ImagesAnswer> {
  const entry = "generateImage";
  const { body, metadata: headers } = await inferRaw(lease, { entry, facts: NO_FACTS, body: request, call });
  const { head, from } = readHead(body);
  const { images: told, usage } = head;
  if (!Array.isArray(told) || !hasUsage({ usage })) throw malformed();
  if (told.length !== wanted)
    throw new ServingError("internal", `The hook ${entry} gave ${told.length} pictures; expected ${wanted}.`);
  let at = from;
  const images = told.map((image: unknown): MadeImage => {
    if (!isObject(image) || typeof image.size !== "number" || !isTextOrAbsent(image.revisedPrompt)) throw malformed();
    const bytes = body.subarray(at, at + image.size);
    at += image.size;
    if (bytes.length !== image.size) throw malformed();
    return { bytes, revisedPrompt: image.revisedPrompt as string | undefined };
  });
  return { images, usage: usage as TextUsage | undefined, headers };
}

function readHead(body: Uint8Array): { head: Readonly<Record<string, unknown>>; from: number } {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const from = bytes.length < 4 ? 0 : 4 + bytes.readUInt32LE(0);
  if (from > 4 + MAX_TOLD_BYTES) throw malformed();
  try {
    const head: unknown = JSON.parse(bytes.subarray(4, from).toString());
    if (isObject(head)) return { head, from };
  } catch {
    // It is no JSON.
  }
  throw malformed();
}
