import { type ErrorCode, type ErrorDetail, isErrorDetails, ServingError } from "./errors.ts";
import { nearest } from "./platform/text/nearest.ts";
import { shorten } from "./platform/text/shorten.ts";
import { bytesTag, MAP_ENTRY, WireReader } from "./tensor/codecs/protobuf/wire-reader.ts";
import { encodeMessage, messageField, textField } from "./tensor/codecs/protobuf/wire-writer.ts";

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

/** A `google.rpc.ErrorInfo` of this server with a reason for programs, and facts by name, cut at 200 characters. */
export function errorInfo(reason: string, metadata: Readonly<Record<string, string>> = {}): ErrorDetail {
  const { key, value } = MAP_ENTRY;
  const entries = Object.entries(metadata).map(([name, text]) =>
    messageField(FIELDS.metadata, [textField(key, name), textField(value, shorten(text, MAX_MEMBER))]),
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
  const [listed, more] = [names.slice(0, MAX_NAMES).join(", "), names.length - MAX_NAMES];
  const expected = more > 0 ? `${listed} and ${more} more` : listed;
  return { reason, field, didYouMean: nearest(field, names), ...(names.length > 0 && { expected }) };
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
