import { invalidArgument } from "../errors.ts";

/** A number as JSON has it, or one of the names that TensorFlow Serving's JSON takes in addition. */
const NUMBER = /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?$/i;
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[-+]?\d+)?$/i;

/** More texts than these in a list could take more memory than a codec thread has, which would end the process. */
const MAX_COLUMNS = 8 * 1024 * 1024;

/**
 * Turns CSV (RFC 4180) into the JSON texts of its rows: a list of several columns, a scalar of one. A field that is
 * quoted, or is not a number, is a string. Throws `invalid_argument` with the line of a row that has another number of
 * columns than the first, and of an unclosed quote.
 */
export function csvToJsonRows(text: string): readonly string[] {
  return [...eachJsonRow(text)];
}

/** {@link csvToJsonRows} one by one, as a list of all would take many times their text. */
export function* eachJsonRow(text: string): Generator<string> {
  let columns = 0;
  for (const { fields, line } of readRows(text)) {
    columns ||= fields.length;
    if (fields.length !== columns) {
      throw invalidArgument(`Line ${line} of the CSV has ${fields.length} columns; the first row has ${columns}.`);
    }
    yield columns === 1 ? fields[0]! : `[${fields.join(",")}]`;
  }
}

interface Row {
  /** JSON texts. */
  readonly fields: readonly string[];
  readonly line: number;
}

function* readRows(text: string): Generator<Row> {
  let at = text.startsWith("\ufeff") ? 1 : 0;
  let fields: string[] = [];
  let [first, line] = [1, 1];
  while (at < text.length || fields.length > 0) {
    const end = endOfField(text, at);
    const separator = separatorAt(text, end);
    if (separator === undefined)
      throw invalidArgument(`Line ${line} of the CSV has a quote that is not closed, or not alone.`);
    const field = text.slice(at, end);
    line += lineBreaks(field);
    if (fields.push(toJson(field)) > MAX_COLUMNS)
      throw invalidArgument(`Line ${first} of the CSV has more than ${MAX_COLUMNS} columns; send fewer.`);
    at = end + separator.length;
    if (separator === ",") continue;
    line++;
    // An empty line is not a row.
    if (fields.length > 1 || field !== "") yield { fields, line: first };
    fields = [];
    first = line;
  }
}

/** By hand, as a regular expression would need more stack than there is for a field of megabytes. */
function endOfField(text: string, start: number): number {
  if (text[start] === '"') return endOfQuoted(text, start);
  let end = start;
  while (end < text.length && separatorAt(text, end) === undefined) end++;
  return end;
}

/** A quote within a quoted field is doubled. */
function endOfQuoted(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end >= 0 && text[end + 1] === '"') end = text.indexOf('"', end + 2);
  return end < 0 ? start : end + 1;
}

/** The separator at this place, empty at the end of the text; undefined within a field. */
function separatorAt(text: string, at: number): string | undefined {
  if (at >= text.length) return "";
  if (text[at] === "," || text[at] === "\n") return text[at];
  return text.startsWith("\r\n", at) ? "\r\n" : undefined;
}

function lineBreaks(field: string): number {
  let count = 0;
  for (let at = field.indexOf("\n"); at >= 0; at = field.indexOf("\n", at + 1)) count++;
  return count;
}

function toJson(field: string): string {
  if (field.startsWith('"')) return JSON.stringify(field.slice(1, -1).replaceAll('""', '"'));
  const text = field.trim();
  if (JSON_NUMBER.test(text)) return text;
  return JSON.stringify(NUMBER.test(text) ? Number(text) : text);
}
