import { invalidArgument } from "../../errors.ts";

/** A text that is missing, among those of a table's column: a byte that is in no UTF-8. */
export const MISSING_TEXT: Uint8Array = Uint8Array.of(0xff);

/** Texts that pandas takes for missing values when it reads CSV. */
const MISSING_TEXTS: ReadonlySet<string> = new Set([
  ...["", "nan", "NaN", "-nan", "-NaN", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>"],
  ...["null", "NULL", "None", "#N/A N/A", "1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN"],
]);

/** Checks that a field of CSV means a missing value, as for pandas. */
export function isMissing(field: string): boolean {
  return MISSING_TEXTS.has(field);
}

/** More texts than these in a list could take more memory than a codec thread has, which would end the process. */
const MAX_COLUMNS = 8 * 1024 * 1024;

/** The fields of each row as texts, without their quotes. Throws `invalid_argument` for a quote that is not closed. */
export function* csvFields(text: string): Generator<readonly string[]> {
  for (const { fields } of readRows(text)) yield fields.map(plainText);
}

/** A row of CSV. */
interface Row {
  /** As they are written. */
  readonly fields: readonly string[];
  readonly line: number;
}

/** The rows of CSV (RFC 4180) as they are written. Throws `invalid_argument` for a quote that is not closed. */
export function* readRows(text: string): Generator<Row> {
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
    if (fields.push(field) > MAX_COLUMNS)
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

/** Checks if a field, as it is written, is in quotes. */
export function isQuoted(field: string): boolean {
  return field.startsWith('"');
}

/** The text of a field that is written so. */
export function plainText(field: string): string {
  return isQuoted(field) ? field.slice(1, -1).replaceAll('""', '"') : field.trim();
}
