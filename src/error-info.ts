import { isUtf8 } from "node:buffer";
import { type ErrorCode, type ErrorDetail, isErrorDetails, ServingError } from "./errors.ts";
import { maskSecrets } from "./platform/text/mask-secrets.ts";
import { nearest } from "./platform/text/nearest.ts";
import { shorten } from "./platform/text/shorten.ts";
import { bytesTag, MAP_ENTRY, WIRE, WireReader } from "./tensor/codecs/protobuf/wire-reader.ts";
import { bytesField, encodeMessage, messageField, textField } from "./tensor/codecs/protobuf/wire-writer.ts";

/** The type of google.rpc.ErrorInfo. */
export const ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo";
const DOMAIN = "kserving";
/** Fields of google.rpc.ErrorInfo. */
const FIELDS = { reason: 1, domain: 2, metadata: 3 } as const;

/** Characters of one member of a hint, parts of which clients choose. */
const MAX_MEMBER = 200;
/** Known names that a hint lists. */
const MAX_NAMES = 10;

/** A word for the fault of a request. */
export type HintReason =
  | `UNKNOWN_${"MODEL" | "VERSION" | "SIGNATURE" | "INPUT" | "OUTPUT" | "ROUTE"}`
  | `WRONG_${"DTYPE" | "SHAPE" | "PARAMETER"}`
  | "MISSING_INPUT";

/** The fault of a request, and its remedy, for programs. */
export interface ErrorHint {
  readonly reason: HintReason;
  /** The name of the model, input, output, parameter or route that the error is about. */
  readonly field?: string | undefined;
  /** The dtype, the shape, or the known names that are expected there. */
  readonly expected?: string | undefined;
  /** The known name that is nearest to an unknown one. */
  readonly didYouMean?: string | undefined;
}

/** Names of a hint's members on the wires. */
const MEMBERS: readonly string[] = ["field", "expected", "did_you_mean"];

/** An error with a hint, which crosses threads and servers as a detail of it. */
export function hintedError(code: ErrorCode, message: string, hint: ErrorHint): ServingError {
  return new ServingError(code, message, { details: [toDetail(hint)] });
}

/**
 * A `google.rpc.ErrorInfo` of this server with a reason for programs, and facts by name, cut at 200 characters, with
 * secrets masked as in a message.
 */
export function errorInfo(reason: string, metadata: Readonly<Record<string, string>> = {}): ErrorDetail {
  const { key, value } = MAP_ENTRY;
  const entries = Object.entries(metadata).map(([name, text]) =>
    messageField(FIELDS.metadata, [textField(key, name), textField(value, maskSecrets(shorten(text, MAX_MEMBER)))]),
  );
  const info = [textField(FIELDS.reason, reason), textField(FIELDS.domain, DOMAIN), ...entries];
  return { type: ERROR_INFO, value: encodeMessage(info).toString("base64") };
}

/** A hint as a detail of an error. */
export function toDetail({ reason, field, expected, didYouMean }: ErrorHint): ErrorDetail {
  const facts = Object.entries({ field, expected, did_you_mean: didYouMean }).flatMap(([name, text]) =>
    text === undefined ? [] : [[name, text] as const],
  );
  return errorInfo(reason, Object.fromEntries(facts));
}

/** The hint of a name that is none of the known ones. */
export function unknownName(reason: HintReason, field: string, known: Iterable<string>): ErrorHint {
  const names = [...known];
  return { reason, field, didYouMean: nearest(field, names), ...(names.length > 0 && { expected: listNames(names) }) };
}

/** The hint of an input that a request lacks, of those that the model takes. */
export function missingInput(field: string | undefined, known: Iterable<string>): ErrorHint {
  return { reason: "MISSING_INPUT", field, expected: listNames([...known]) };
}

/** Names for a text, ten at most: `a, b and 3 more`. */
export function listNames(names: readonly string[]): string {
  const [listed, more] = [names.slice(0, MAX_NAMES).join(", "), names.length - MAX_NAMES];
  return more > 0 ? `${listed} and ${more} more` : listed;
}

/**
 * An error with its message and the texts of its details changed alike, and it as the cause: nothing is told in the one
 * that clients may not see in the other.
 */
export function changeTexts(error: ServingError, change: (text: string) => string): ServingError {
  const { code, message, details } = error;
  return new ServingError(code, change(message), { cause: error, details: changeDetails(details, change) });
}

/** Characters of a detail's value; a longer one is sent to no client, and would take long to look through. */
const MAX_VALUE = 4096;

/** Details with their texts changed, whatever their messages are. */
export function changeDetails(
  details: readonly ErrorDetail[] | undefined,
  change: (text: string) => string,
): readonly ErrorDetail[] | undefined {
  if (!isErrorDetails(details)) return undefined;
  const sent = details.filter(({ value }) => value.length <= MAX_VALUE);
  return sent.map(({ type, value }) => {
    const bytes = Buffer.from(value, "base64");
    return { type, value: hasSeparator(bytes) ? changeMessage(bytes, change).toString("base64") : value };
  });
}

/** Checks for a character that every path has. */
function hasSeparator(bytes: Uint8Array): boolean {
  return bytes.includes(SLASH) || bytes.includes(BACKSLASH);
}

const [SLASH, BACKSLASH] = [0x2f, 0x5c];

/** A message of protobuf with its texts changed; other bytes stay. */
function changeMessage(bytes: Uint8Array, change: (text: string) => string): Buffer {
  const reader = new WireReader(bytes, "a detail");
  const parts: Uint8Array[] = [];
  try {
    while (reader.hasMore()) {
      const start = bytes.length - reader.left;
      const tag = reader.tag();
      if (tag % 8 === WIRE.bytes) {
        parts.push(encodeMessage([bytesField(Math.floor(tag / 8), changeField(reader.bytes(), change))]));
        continue;
      }
      reader.skip(tag);
      parts.push(bytes.subarray(start, bytes.length - reader.left));
    }
    return Buffer.concat(parts);
  } catch {
    return Buffer.from(changeText(bytes, change));
  }
}

/** A character that is in no text, and in nearly every message within a message. */
const CONTROL = /^\n|[^\P{Cc}\t\r\n]/u;

/** A field of a message that is a text, or bytes, or a message: only its schema would say. */
function changeField(bytes: Uint8Array, change: (text: string) => string): Uint8Array {
  if (!hasSeparator(bytes)) return bytes;
  return CONTROL.test(Buffer.from(bytes).toString()) ? changeMessage(bytes, change) : changeText(bytes, change);
}

function changeText(bytes: Uint8Array, change: (text: string) => string): Uint8Array {
  return isUtf8(bytes) ? Buffer.from(change(Buffer.from(bytes).toString())) : bytes;
}

/**
 * The members of a hint among the details of an error, as JSON has them; undefined if there is none. Another server or
 * a hook may have made it.
 */
export function hintMembers(details: readonly ErrorDetail[] | undefined): Readonly<Record<string, string>> | undefined {
  if (!isErrorDetails(details)) return undefined;
  for (const { type, value } of details) {
    const info = type === ERROR_INFO ? readInfo(Buffer.from(value, "base64")) : undefined;
    if (info?.domain === DOMAIN && info.facts.length > 0)
      return Object.fromEntries([["reason", info.reason], ...info.facts]);
  }
  return undefined;
}

interface ErrorInfo {
  reason: string;
  domain: string;
  readonly facts: (readonly [name: string, text: string])[];
}

function readInfo(bytes: Uint8Array): ErrorInfo | undefined {
  const info: ErrorInfo = { reason: "", domain: "", facts: [] };
  try {
    const reader = new WireReader(bytes, "google.rpc.ErrorInfo");
    while (reader.hasMore()) readField(reader, info);
    return info;
  } catch {
    return undefined;
  }
}

function readField(reader: WireReader, info: ErrorInfo): void {
  const tag = reader.tag();
  if (tag === bytesTag(FIELDS.reason)) info.reason = shorten(reader.text(), MAX_MEMBER);
  else if (tag === bytesTag(FIELDS.domain)) info.domain = reader.text();
  else if (tag === bytesTag(FIELDS.metadata)) info.facts.push(...readFact(reader.nested("its metadata")));
  else reader.skip(tag);
}

/** Only facts that a hint has: others would be names of JSON that another chose. */
function readFact(reader: WireReader): readonly (readonly [name: string, text: string])[] {
  let [name, text] = ["", ""];
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === bytesTag(MAP_ENTRY.key)) name = reader.text();
    else if (tag === bytesTag(MAP_ENTRY.value)) text = shorten(reader.text(), MAX_MEMBER);
    else reader.skip(tag);
  }
  return MEMBERS.includes(name) ? [[name, text]] : [];
}
