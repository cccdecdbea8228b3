import { ServingError } from "../errors.ts";
import type { FinishReason, TextUsage, ToolCallPart } from "../hooks/text-request.ts";
import { isObject } from "../tensor/record.ts";
import { inferRaw, type RawResponse } from "./infer-raw.ts";
import type { CallOptions, Lease } from "./inference-service.ts";

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
}

/** Headers that hooks set. */
type Headers = Readonly<Record<string, string>>;

/** A request for a function of hooks about texts. */
interface TextCall {
  /** The name of the function. */
  readonly entry: string;
  /** The request that the function gets, as JSON. */
  readonly request: Uint8Array;
  readonly call: CallOptions;
}

/** A {@link TextCall} whose answer may come in parts. */
interface PartedCall extends TextCall {
  /** Takes each part, or the whole answer: the next one is made once it resolves. */
  readonly take: (part: TextPart, headers: Headers) => Promise<void>;
}

/** Calls a function that answers with a text, whole or in parts; throws as {@link inferRaw} does. */
export async function inferText(lease: Lease, { entry, request, call, take }: PartedCall): Promise<void> {
  const write = ({ body, metadata }: RawResponse) => take(readPart(body), metadata);
  const answer = await inferRaw(lease, { entry, facts: NO_FACTS, body: request, call, write });
  if (answer.parts === undefined && answer.body.length > 0) await write(answer);
}

const NO_FACTS = {};

const TEXTS = ["text", "reasoning", "refusal", "finishReason"];

/** Nothing from a hook thread is trusted. */
function readPart(body: Uint8Array): TextPart {
  try {
    const part: unknown = JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString());
    if (isPart(part)) return part;
  } catch {
    // It is no JSON.
  }
  throw malformed();
}

function isPart(part: unknown): part is TextPart {
  return isObject(part) && TEXTS.every((name) => isTextOrAbsent(part[name])) && hasCalls(part) && hasUsage(part);
}

function isTextOrAbsent(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}

function hasCalls({ toolCalls = [] }: { readonly toolCalls?: unknown }): boolean {
  if (!Array.isArray(toolCalls)) return false;
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
