import { type ErrorHint, hintedError, hintMembers } from "../error-info.ts";
import { invalidArgument, ServingError } from "../errors.ts";
import { misspelt } from "../platform/text/nearest.ts";
import { shorten } from "../platform/text/shorten.ts";
import type { ServableDescription } from "../serving/servable-description.ts";
import { chooseSignature } from "../tensor/signature/choose-signature.ts";
import { knownInputs } from "../tensor/signature/signature.ts";

/** MLflow's forms of a data frame, each the only member of its body. */
const FORMS: readonly string[] = ["dataframe_split", "dataframe_records"];

/** The beginning of a body that has one. */
export const FRAME = /^\s*\{\s*"dataframe_(?:split|records)"\s*:/;
/** The beginning of a data frame as pandas' `to_json(orient="split")` writes it. */
export const SPLIT = /^\s*\{\s*"(?:columns|index|data)"\s*:\s*\[/;
/** The beginning of a request of TensorFlow Serving's, which SageMaker's clients send too. */
const INSTANCES = /^\s*\{\s*"(?:instances|signature_name)"\s*:/;

/** The rows of a request of TensorFlow Serving's that has nothing else but a signature's name. */
interface SoleInstances {
  readonly rows: Buffer;
  /** Offset of the rows in the body. */
  readonly start: number;
  /** Empty = the default. */
  readonly signature: string;
}

/** The list under `instances` in a body with no other member but `signature_name`; undefined for any other body. */
export function soleInstances(body: Uint8Array): SoleInstances | undefined {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (!INSTANCES.test(bytes.toString("latin1", 0, MOST_SHOWN))) return undefined;
  // A character for each byte.
  const text = bytes.toString("latin1");
  const found: Record<string, Member | undefined> = { instances: undefined, signature_name: undefined };
  let last = text.length;
  for (const member of membersOf(text, afterSpace(text, 0))) {
    if (!Object.hasOwn(found, member.name) || found[member.name] !== undefined) return undefined;
    found[member.name] = member;
    last = member.end;
  }
  const { instances, signature_name: name } = found;
  const close = afterSpace(text, last);
  const isAll = text[close] === "}" && afterSpace(text, close + 1) === text.length;
  const signature = name === undefined ? "" : parsedText(bytes.subarray(name.start, name.end));
  if (!isAll || instances === undefined || text[instances.start] !== "[" || signature === undefined) return undefined;
  return { rows: bytes.subarray(instances.start, instances.end), start: instances.start, signature };
}

function parsedText(json: Buffer): string | undefined {
  try {
    const value: unknown = JSON.parse(json.toString());
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Facts about rows with names. */
interface NamedRows {
  /** Empty = the default. */
  readonly signature?: string;
  /** True for CSV below a line of names. Default false. */
  readonly isCsv?: boolean;
}

/** The error of rows with names says, of a model whose only input is a tensor, how its rows are sent. */
export function errorOfNamedRows(
  reason: unknown,
  { signatures }: Pick<ServableDescription, "signatures">,
  { signature = "", isCsv = false }: NamedRows = {},
): unknown {
  const [only, ...others] = knownInputs(chooseSignature(signature, signatures)?.spec ?? {}) ?? [];
  if (!(reason instanceof ServingError) || only === undefined || others.length > 0) return reason;
  const { code, message, details } = reason;
  const { reason: fault = "", field = "" } = hintMembers(details) ?? {};
  // An input of one value for each row is the column of its name.
  const isColumn = only.shape?.length === 1;
  const isMeant = fault === "UNKNOWN_INPUT" && misspelt(field, [only.name]) !== undefined;
  if (isColumn || isMeant || (fault !== "UNKNOWN_INPUT" && fault !== "MISSING_INPUT")) return reason;
  const remedy = isCsv ? "the rows without a line of names" : 'the rows as lists: {"instances": [[…], …]}';
  const advice = `The model's only input is the tensor ${shorten(only.name, MOST_SHOWN)}; send ${remedy}.`;
  return new ServingError(code, `${message} ${advice}`, { details, cause: reason });
}

/** A data frame as JSON of TensorFlow Serving's REST API, in pieces. */
export interface FrameJson {
  readonly before: string;
  /** Joined by commas. */
  readonly items: Iterable<string>;
  readonly after: string;
}

/** Checks if the name of a form is anywhere in a body, which is all that other bodies are asked. */
export function mayBeFrame(bytes: Buffer): boolean {
  return FORMS.some((form) => bytes.includes(`"${form}"`));
}

/**
 * A data frame in a body as MLflow's clients send it; undefined for any other body. Records are instances, and split
 * ones an input for each column, so that no name comes more often than in the body. Values keep their source: no number
 * is rounded, and who reads the JSON checks them. Throws `invalid_argument` for a body of another structure, and for
 * one with other members, such as parameters.
 */
export function frameOf(text: string): FrameJson | undefined {
  const start = afterSpace(text, 0);
  const frame = firstMember(text, start, (name) => FORMS.includes(name));
  if (frame === undefined) return undefined;
  const other = firstMember(text, start, (name) => name !== frame.name);
  if (other !== undefined) throw malformed(`"${other.name.slice(0, MOST_SHOWN)}" beside ${frame.name} is not taken`);
  const close = afterSpace(text, frame.end);
  if (text[close] !== "}" || afterSpace(text, close + 1) < text.length)
    throw malformed(`${frame.name} is not all of the body`);
  return frame.name === "dataframe_split"
    ? { before: '{"inputs":{', items: eachValue(text, frame), after: "}}" }
    : { before: '{"instances":[', items: eachRecord(text, frame), after: "]}" };
}

/** Characters of a name in a message, and in which a body is known by its beginning. */
const MOST_SHOWN = 100;

function* eachRecord(text: string, frame: Place): Generator<string> {
  for (const row of itemsOf(text, frame, "dataframe_records is not a list of rows")) yield sliceOf(text, row);
}

/** The values by column, whose first one has its name and bracket, and whose last one the other bracket. */
function* eachValue(text: string, frame: Place): Generator<string> {
  const [columns, data] = ["columns", "data"].map((name) => firstMember(text, frame.start, (each) => each === name));
  const names = take(itemsOf(text, columns, "dataframe_split has no list of columns"), MAX_COLUMNS).map((place) =>
    nameOf(sliceOf(text, place)),
  );
  const rows = rowsOf(text, data, names.length);
  for (const name of names) {
    for (const [index, start] of rows.entries()) {
      const value = { start, end: endOfValue(text, start) };
      rows[index] = afterSpace(text, afterSpace(text, value.end) + 1);
      const isLast = index === rows.length - 1;
      yield `${index === 0 ? `${name}:[` : ""}${sliceOf(text, value)}${isLast ? "]" : ""}`;
    }
  }
}

/** Places at which the first values of the rows begin. */
function rowsOf(text: string, data: Place | undefined, columns: number): number[] {
  const starts: number[] = [];
  for (const row of itemsOf(text, data, "dataframe_split has no list of data")) {
    let count = 0;
    const values = itemsOf(text, row, `row ${starts.length + 1} of dataframe_split is no list`);
    for (const _ of values) count++;
    if (count !== columns) {
      const what = `row ${starts.length + 1} of dataframe_split has ${count} values for ${columns} columns`;
      throw malformed(what, { reason: "WRONG_SHAPE", expected: `[${columns}]` });
    }
    starts.push(afterSpace(text, row.start + 1));
  }
  return starts;
}

/** Columns of a frame at most: each takes memory before any row is read. */
const MAX_COLUMNS = 100_000;

/** A list of places; throws if there are more. */
function take(places: Iterable<Place>, most: number): Place[] {
  const taken: Place[] = [];
  for (const place of places) {
    if (taken.length === most) throw malformed(`dataframe_split has more than ${most} columns`);
    taken.push(place);
  }
  return taken;
}

/** Beginning and end of a value in a text. */
interface Place {
  readonly start: number;
  readonly end: number;
}

/** A member of an object: its name, and the place of its value. */
interface Member extends Place {
  readonly name: string;
}

function sliceOf(text: string, { start, end }: Place): string {
  return text.slice(start, end);
}

/** Columns without names have numbers. */
function nameOf(source: string): string {
  if (source.startsWith('"')) return source;
  if (/^\d+$/.test(source)) return `"${source}"`;
  throw malformed("a column of dataframe_split has no name");
}

function malformed(what: string, hint?: ErrorHint): Error {
  const expected = '{"dataframe_split": {"columns": [NAME, …], "data": [[…], …]}} or {"dataframe_records": [{…}, …]}';
  const text = `The data frame is malformed: ${what}; expected ${expected}.`;
  return hint === undefined ? invalidArgument(text) : hintedError("invalid_argument", text, hint);
}

/** The first member of an object at a place whose name is such a one. */
function firstMember(text: string, start: number, isWanted: (name: string) => boolean): Member | undefined {
  for (const member of membersOf(text, start)) if (isWanted(member.name)) return member;
  return undefined;
}

/** The members of an object at a place, as far as it has the form of one; an object alone has members. */
function* membersOf(text: string, start: number): Generator<Member> {
  if (text[start] !== "{") return;
  for (let at = afterSpace(text, start + 1); text[at] === '"'; ) {
    const keyEnd = endOfText(text, at);
    const colon = afterSpace(text, keyEnd);
    if (text[colon] !== ":") return;
    const valueStart = afterSpace(text, colon + 1);
    const end = endOfValue(text, valueStart);
    yield { name: text.slice(at + 1, keyEnd - 1), start: valueStart, end };
    const next = afterSpace(text, end);
    if (text[next] !== ",") return;
    at = afterSpace(text, next + 1);
  }
}

function* itemsOf(text: string, list: Place | undefined, problem: string): Generator<Place> {
  if (list === undefined || text[list.start] !== "[") throw malformed(problem);
  let at = afterSpace(text, list.start + 1);
  while (text[at] !== "]") {
    const end = endOfValue(text, at);
    if (end === at) throw malformed(problem);
    yield { start: at, end };
    const next = afterSpace(text, end);
    if (text[next] !== "," && text[next] !== "]") throw malformed(problem);
    at = text[next] === "," ? afterSpace(text, next + 1) : next;
  }
}

/** The place behind a value, which may be malformed inside. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  let at = start;
  for (; at < text.length; at++) {
    const char = text[at];
    if (char === '"') at = endOfText(text, at) - 1;
    else if (char === "[" || char === "{") depth++;
    else if (char === "]" || char === "}") {
      if (depth === 0) return at;
      if (--depth === 0) return at + 1;
    } else if (depth === 0 && (char === "," || isSpace(char))) return at;
    if (depth === 0 && char === '"') return at + 1;
  }
  return at;
}

/** The place behind a text in quotes. */
function endOfText(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return Math.min(at + 1, text.length);
}

function afterSpace(text: string, start: number): number {
  let at = start;
  while (isSpace(text[at])) at++;
  return at;
}

function isSpace(char: string | undefined): boolean {
  return char === " " || char === "\n" || char === "\r" || char === "\t";
}
