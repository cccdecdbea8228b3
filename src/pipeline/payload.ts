import { constants, isUtf8 } from "node:buffer";
import { invalidArgument, publicText, type ServingError } from "../errors.ts";
import { SKIP_KEY } from "../hooks/hooks.ts";
import type { CancelSignal } from "../platform/async/cancel-source.ts";
import { LongWork } from "../platform/limits/long-work.ts";
import { checkJsonExtent, JSON_CHARACTERS, MAX_JSON_BYTES } from "../tensor/codecs/json/json-extent.ts";
import { type JsonFault, jsonFault } from "../tensor/codecs/json/json-fault.ts";
import { numericLayout } from "../tensor/dtype.ts";
import { copyForJson, isCutJson, jsonPieces } from "../tensor/json-text.ts";
import { copyTensors } from "../tensor/packed-tensor.ts";
import { markPlainLists } from "../tensor/plain-list.ts";
import { toOutput, toTensor, toTensors, type Values } from "../tensor/plain-value.ts";
import { isObject } from "../tensor/record.ts";
import type { TensorSpec } from "../tensor/signature/signature.ts";
import { createTensor, createTensors, elementCount, type Tensor, type Tensors, tensorBytes } from "../tensor/tensor.ts";
import { cutJson, isContinued, parseAtOnce, parsePieces } from "./json-cutter.ts";

/** Tensors, or one JSON object as text (PredictJSON), which hooks receive as plain values. */
export type Payload = TensorPayload | JsonPayload;
/** Named tensors. */
interface TensorPayload {
  readonly kind: "tensors";
  readonly tensors: Tensors;
}
/** The UTF-8 text of a JSON object, not parsed yet: the pipeline parses it, not the transport. */
export interface JsonPayload {
  readonly kind: "json";
  readonly json: Uint8Array;
  /** Steps by which a large text is parsed in turns; it has been read as JSON before. */
  readonly steps?: Uint32Array;
}

const decoder = new TextDecoder("utf-8", { fatal: true });
const encoder = new TextEncoder();
/** Saved before user code may replace it. */
const { structuredClone: transferAway } = globalThis;
const NO_BYTES = new Uint8Array(0);
/** Characters of an answer that are encoded at once. */
const ENCODED_LENGTH = 256 * 1024;

/** Characters of a name that are not counted, since a tensor itself takes more. */
const FREE_NAME = 256;

/** Size of a payload, in bytes; long names count. */
export function payloadBytes(payload: Payload): number {
  if (payload.kind === "json") return payload.json.byteLength;
  let bytes = tensorBytes(payload.tensors);
  for (const name in payload.tensors) if (name.length > FREE_NAME) bytes += 2 * name.length;
  return bytes;
}

/** Further bytes that are needed to convert a payload's numbers for the model's inputs. */
export function convertedBytes(payload: Payload, specs: readonly TensorSpec[] = []): number {
  if (payload.kind === "json") return 0;
  let bytes = 0;
  for (const { name, dtype, convertsNumbers } of specs) {
    const came = payload.tensors[name];
    if (convertsNumbers !== true || came === undefined || came.dtype === dtype || came.dtype === "bytes") continue;
    if (dtype !== "bytes") bytes += elementCount(came.shape) * numericLayout(dtype).bytes;
  }
  return bytes;
}

/** A client's values as the first hook receives them; throws `invalid_argument`. */
export function openPayload(payload: Payload): Values {
  return withoutSkip(payload.kind === "json" ? parseJsonObject(payload.json) : payload.tensors);
}

function withoutSkip(values: Values): Values {
  if (!Object.hasOwn(values, SKIP_KEY)) return values;
  throw invalidArgument(`"${SKIP_KEY}" is for hooks; a client cannot skip a model.`);
}

/**
 * {@link openPayload} of a JSON text. If its steps are known, it is parsed in turns, and its memory released: the text
 * would be there as long as the values are.
 */
export async function openJson(payload: JsonPayload, signal: CancelSignal): Promise<Values> {
  const { json, steps } = payload;
  if (steps === undefined) return openPayload(payload);
  const values = await parsePieces({ json, steps }, signal).catch((reason) => Promise.reject(notParsed(json, reason)));
  transferAway(undefined, { transfer: [json.buffer as ArrayBuffer] });
  return withoutSkip(values as Values);
}

/** {@link openPayload} of a large JSON text, without a string of all of it. */
export function openLargeJson(json: Uint8Array): Values {
  checkJsonObject(json);
  try {
    return withoutSkip(parseAtOnce({ json, steps: cutJson(json) }) as Values);
  } catch (reason) {
    throw notParsed(json, reason);
  }
}

/** One of its texts may be longer than a string. */
function notParsed(json: Uint8Array, reason: unknown): unknown {
  const isTooLong = reason instanceof RangeError || (reason as NodeJS.ErrnoException).code === "ERR_STRING_TOO_LONG";
  return isTooLong ? tooLong(json.length, reason) : reason;
}

/** Values as the text of a JSON object, in one turn. */
export function sealJson(values: Values): Uint8Array {
  const pieces = [...encodedPieces(values)];
  const [only] = pieces;
  return only !== undefined && pieces.length === 1 ? only : Buffer.concat(pieces);
}

/**
 * {@link sealJson} in turns of the event loop where there is much to write. Whose the values are may change them from
 * the next turn on, so a copy is written.
 */
export async function sealJsonInTurns(values: Values, signal: CancelSignal): Promise<Uint8Array> {
  if (!isCutJson(values)) return sealJson(values);
  const work = new LongWork(signal);
  const pieces: Uint8Array[] = [];
  for (const piece of encodedPieces(copyForJson(values) as Values)) {
    pieces.push(piece);
    if (work.isOver()) await work.next();
  }
  return joinInTurns(pieces, work);
}

/** Each piece is let go of once it is copied. */
async function joinInTurns(pieces: Uint8Array[], work: LongWork): Promise<Uint8Array> {
  const joined = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const [index, piece] of pieces.entries()) {
    joined.set(piece, at);
    at += piece.length;
    pieces[index] = NO_BYTES;
    if (work.isOver()) await work.next();
  }
  return joined;
}

/** No string has to hold all of the text. */
function* encodedPieces(values: Values): Generator<Uint8Array> {
  let text = "";
  for (const piece of jsonPieces(values)) {
    text += piece;
    if (text.length < ENCODED_LENGTH) continue;
    yield encoder.encode(text);
    text = "";
  }
  yield encoder.encode(text);
}

/** The answer's payload, of the same kind as the request's, with tensors as the outputs are declared. */
export function sealPayload(values: Values, kind: Payload["kind"], declared?: readonly TensorSpec[]): Payload {
  if (kind === "json") return { kind, json: sealJson(values) };
  if (declared === undefined || !isObject(values)) return { kind, tensors: toTensors(values) };
  const toOwn = ([name, value]: [string, Values[string]]): [string, Tensor] => {
    const spec = declared.find((each) => each.name === name);
    return [name, spec === undefined ? toTensor(value, name) : toOutput(value, spec)];
  };
  return { kind, tensors: createTensors(Object.entries(values).map(toOwn)) };
}

/** Largest memory of a value, as a multiple of its text: `{},` is three bytes, the object 72. */
const MAX_GROWTH = 24;

/** Maximum memory needed to open a JSON text, in bytes: its values, a string of it, and the text written from them. */
export function jsonScratchBytes(json: Uint8Array): number {
  return Math.min(MAX_GROWTH * json.length, MAX_JSON_BYTES) + 2 * json.length;
}

function tooLong(bytes: number, cause: unknown): ServingError {
  const message = `The body has ${bytes} bytes; JSON text may have ${constants.MAX_STRING_LENGTH} characters at most. Send large values as tensors, by Predict.`;
  return invalidArgument(message, cause);
}

const REMEDY = "send many numbers as tensors, by Predict";
const EMPTY_LIST = /\[\s*\]/;

function parseJson(json: Uint8Array): unknown {
  try {
    const text = decoder.decode(json);
    const value: unknown = JSON.parse(text);
    // Checked last: it is rare, and searching a large body takes time.
    if (EMPTY_LIST.test(text)) markPlainLists(value);
    return value;
  } catch (reason) {
    if (json.length > constants.MAX_STRING_LENGTH) throw tooLong(json.length, reason);
    throw invalidArgument(`The body is not JSON: ${publicText(reason)}`, reason);
  }
}

function parseJsonObject(json: Uint8Array): Values {
  checkJsonExtent(json, REMEDY);
  const value = parseJson(json);
  if (isObject(value)) return value as Values;
  throw notAnObject();
}

function notAnObject(): ServingError {
  return invalidArgument("The body is not a JSON object; expected one with an input under each name.");
}

/** Bytes of a text up to which V8 names its fault: it makes the values before that. */
const TOLD_BYTES = 1024 * 1024;
/** Bytes behind the fault, of which it shows some. */
const SHOWN_BYTES = 64;
const UNEXPECTED_END = "Unexpected end of JSON input";

/** Throws `invalid_argument` for a text that {@link openPayload} would not parse; makes no values. */
export function checkJsonObject(json: Uint8Array): void {
  checkJsonExtent(json, REMEDY);
  if (!isUtf8(json)) throw invalidArgument("The body is not JSON: The encoded data was not valid for encoding utf-8");
  const fault = jsonFault(json);
  if (fault !== undefined) throw notJson(json, fault);
  if (firstByte(json) !== JSON_CHARACTERS.OPEN_OBJECT) throw notAnObject();
}

function notJson(json: Uint8Array, { at, isInString }: JsonFault): unknown {
  if (at < TOLD_BYTES) {
    let end = Math.min(at + SHOWN_BYTES, json.length);
    while (end < json.length && isContinued(json[end]!)) end++;
    try {
      parseJson(json.subarray(0, end));
    } catch (reason) {
      return reason;
    }
  }
  const [character = ""] = Buffer.from(json.subarray(at, at + SHOWN_BYTES)).toString();
  const where = ` in JSON at position ${at}`;
  const what = isInString ? `Unterminated string${where}` : `Unexpected token '${character}'${where}`;
  return invalidArgument(`The body is not JSON: ${at < json.length || isInString ? what : UNEXPECTED_END}`);
}

const SPACE = new Set(Buffer.from(" \t\r\n\ufeff"));

function firstByte(json: Uint8Array): number | undefined {
  return json.find((byte) => !SPACE.has(byte));
}

const JSON_NAME = "json";
const STEPS_NAME = "steps";

/** A payload as tensors, which cross threads. */
export function payloadToTensors(payload: Payload): Tensors {
  if (payload.kind === "tensors") return payload.tensors;
  const { json, steps } = payload;
  const text = [JSON_NAME, createTensor("uint8", [json.length], json)] as const;
  return createTensors(
    steps === undefined ? [text] : [text, [STEPS_NAME, createTensor("uint32", [steps.length], steps)]],
  );
}

/** The payload that the tensors stand for. */
export function payloadFromTensors(kind: Payload["kind"], tensors: Tensors): Payload {
  if (kind === "tensors") return { kind, tensors };
  const steps = tensors[STEPS_NAME]?.data as Uint32Array | undefined;
  return { kind, json: tensors[JSON_NAME]?.data as Uint8Array, ...(steps && { steps }) };
}

/** A copy of a payload in its own memory, which stays valid when the original is transferred. */
export function copyPayload(payload: Payload): Payload {
  if (payload.kind === "json") return { kind: "json", json: new Uint8Array(payload.json) };
  return { kind: "tensors", tensors: copyTensors(payload.tensors) };
}
