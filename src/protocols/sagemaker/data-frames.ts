import { invalidArgument } from "../../errors.ts";

/** MLflow's forms of a data frame, each the only member of its body. */
const FORMS: readonly string[] = ["dataframe_split", "dataframe_records"];

/** The beginning of a body that has one. */
export const FRAME = /^\s*\{\s*"dataframe_(?:split|records)"\s*:/;
/** The beginning of a data frame as pandas' `to_json(orient="split")` writes it. */
export const SPLIT = /^\s*\{\s*"(?:columns|index|data)"\s*:\s*\[/;
/** The beginning of a request of TensorFlow Serving's, which SageMaker's clients send too. */
const INSTANCES = /^\s*\{\s*"instances"\s*:\s*\[/;

/** The list under `instances` in a body that has no other member; undefined for any other body. */
export function soleInstances(body: Uint8Array): Buffer | undefined {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (!INSTANCES.test(bytes.toString("latin1", 0, MOST_SHOWN))) return undefined;
  // A character for each byte.
  const text = bytes.toString("latin1");
  const list = firstMember(text, afterSpace(text, 0), () => true);
  const close = afterSpace(text, list?.end ?? text.length);
  const isAll = text[close] === "}" && afterSpace(text, close + 1) === text.length;
  return isAll ? bytes.subarray(list?.start, list?.end) : undefined;
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
    if (count !== columns)
      throw malformed(`row ${starts.length + 1} of dataframe_split has ${count} values for ${columns} columns`);
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

function malformed(what: string): Error {
  const expected = '{"dataframe_split": {"columns": [NAME, …], "data": [[…], …]}} or {"dataframe_records": [{…}, …]}';
  return invalidArgument(`The data frame is malformed: ${what}; expected ${expected}.`);
}

/** The first member of an object at a place whose name is such a one; an object alone has members. */
function firstMember(text: string, start: number, isWanted: (name: string) => boolean): Member | undefined {
  if (text[start] !== "{") return undefined;
  for (let at = afterSpace(text, start + 1); text[at] === '"'; ) {
    const keyEnd = endOfText(text, at);
    const colon = afterSpace(text, keyEnd);
    if (text[colon] !== ":") return undefined;
    const valueStart = afterSpace(text, colon + 1);
    const end = endOfValue(text, valueStart);
    const name = text.slice(at + 1, keyEnd - 1);
    if (isWanted(name)) return { name, start: valueStart, end };
    const next = afterSpace(text, end);
    if (text[next] !== ",") return undefined;
    at = afterSpace(text, next + 1);
  }
  return undefined;
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
