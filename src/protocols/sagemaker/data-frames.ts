import { invalidArgument } from "../../errors.ts";

/** MLflow's forms of a data frame, each the first member of its body. */
const DATA_FRAME = /^\s*\{\s*"(dataframe_split|dataframe_records)"\s*:/;
const HEAD_BYTES = 64;

/** A data frame in a body as MLflow's clients send it. */
export type DataFrameForm = "dataframe_split" | "dataframe_records";

/** The form of a body that is a data frame of MLflow; undefined for any other. */
export function dataFrameForm(bytes: Buffer): DataFrameForm | undefined {
  return DATA_FRAME.exec(bytes.toString("latin1", 0, HEAD_BYTES))?.[1] as DataFrameForm | undefined;
}

/**
 * The rows of a data frame as texts of JSON, each an object with a value for each column. Values keep their source, so
 * that no number is rounded. Throws `invalid_argument` for a body of another structure; values are checked by who reads
 * the rows.
 */
export function* eachFrameRow(text: string, form: DataFrameForm): Generator<string> {
  const frame = memberOf(text, afterSpace(text, 0), form);
  if (form === "dataframe_records") {
    for (const row of itemsOf(text, frame, "dataframe_records is not a list of rows")) yield sliceOf(text, row);
    return;
  }
  const [columns, data] = ["columns", "data"].map((name) => frame && memberOf(text, frame.start, name));
  const names = take(itemsOf(text, columns, "dataframe_split has no list of columns"), MAX_COLUMNS).map((place) =>
    nameOf(sliceOf(text, place)),
  );
  let count = 0;
  for (const row of itemsOf(text, data, "dataframe_split has no list of data")) {
    const values = take(itemsOf(text, row, `row ${count} of dataframe_split is no list`), names.length);
    if (values.length < names.length)
      throw malformed(`row ${count} of dataframe_split has ${values.length} values for ${names.length} columns`);
    yield `{${values.map((place, index) => `${names[index]}:${sliceOf(text, place)}`).join(",")}}`;
    count++;
  }
}

/** Columns of a frame at most: each takes memory before any row is read. */
const MAX_COLUMNS = 100_000;

/** A list of places; throws if there are more, so that no row makes a long one. */
function take(places: Iterable<Place>, most: number): Place[] {
  const taken: Place[] = [];
  for (const place of places) {
    if (taken.length === most) throw malformed(`a list of dataframe_split has more than ${most} values`);
    taken.push(place);
  }
  return taken;
}

/** Beginning and end of a value in a text. */
interface Place {
  readonly start: number;
  readonly end: number;
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

/** The first member of this name of the object at a place; an object alone has members. */
function memberOf(text: string, start: number, name: string): Place | undefined {
  if (text[start] !== "{") return undefined;
  for (let at = afterSpace(text, start + 1); text[at] === '"'; ) {
    const keyEnd = endOfText(text, at);
    const valueStart = afterSpace(text, afterSpace(text, keyEnd) + 1);
    const end = endOfValue(text, valueStart);
    if (text.slice(at + 1, keyEnd - 1) === name) return { start: valueStart, end };
    const next = afterSpace(text, end);
    at = text[next] === "," ? afterSpace(text, next + 1) : next;
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
