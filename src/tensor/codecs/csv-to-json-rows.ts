import { hintedError } from "../../error-info.ts";
import { isQuoted, plainText, readRows } from "./csv.ts";

/** A number as JSON has it, or one of the names that TensorFlow Serving's JSON takes in addition. */
const NUMBER = /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?$/i;
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[-+]?\d+)?$/i;

/** Fields that are missing numbers in a column of numbers, as pandas has them. */
const MISSING = /^(?:[-+]?nan|<?na>?|n\/a|#n\/a|null|none|)$/i;
const INFINITE = /^[-+]?inf(?:inity)?$/i;

/** A column of a table as its model takes it. */
export interface CsvColumn {
  readonly name: string;
  /**
   * Texts stay as they are written; truth has the words of any case, which are 1 and 0 among numbers. A column of which
   * nothing is known is assumed to have numbers: a quoted field there may be a text.
   */
  readonly kind: "text" | "truth" | "number" | "assumed";
}

/** The rows of {@link eachJsonRow} as plain values: several columns are a list. */
export function csvValues(text: string): (CsvValue | CsvValue[])[] {
  return Array.from(eachRow(text, '""', []), (fields) => {
    const values = fields.map((field) => NO_JSON.get(field) ?? JSON.parse(field));
    return values.length === 1 ? values[0] : values;
  });
}

type CsvValue = number | string;

/** Numbers that JSON does not have. */
const NO_JSON = new Map([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY].map((one) => [`${one}`, one]));

/**
 * Turns CSV (RFC 4180) into the JSON texts of its rows: a list of several columns, a scalar of one. They come one by
 * one, as a list of all would take many times their text. A field that is quoted, or is not a number, is a string; but
 * one that is empty, or a word such as `nan`, is NaN in a column whose other fields are numbers. `empty` is the JSON of
 * an empty field of any other column; `known` are the model's columns, for rows below a line with any of their names,
 * or in their order: in one of numbers, quotes make no string of a number, but of one with a leading zero; in one that
 * is assumed to have numbers they do, unless all of the first row is quoted. Throws `invalid_argument` with the line of
 * a row that has another number of columns than the first, and of an unclosed quote.
 */
export function* eachJsonRow(text: string, empty = '""', known: readonly CsvColumn[] = []): Generator<string> {
  for (const fields of eachRow(text, empty, known))
    yield fields.length === 1 ? `${fields[0]}` : `[${fields.join(",")}]`;
}

function* eachRow(text: string, empty: string, known: readonly CsvColumn[]): Generator<readonly string[]> {
  let [head, kinds, count]: [Head | undefined, Kinds, number] = [undefined, [], 0];
  let isNumeric: ((index: number) => boolean) | undefined;
  for (const { fields, line } of readRows(text)) {
    head ??= headOf(fields, known);
    const { columns, names } = head;
    if (fields.length !== columns) {
      const text = `Line ${line} of the CSV has ${fields.length} columns; the first row has ${columns}.`;
      throw hintedError("invalid_argument", text, { reason: "WRONG_SHAPE", expected: `[${columns}]` });
    }
    // Most texts lack nothing, and are read once.
    if (fields.some(isDoubtful)) isNumeric ??= numericColumns(text, head);
    if (count === (names === undefined ? 0 : 1)) kinds = settledKinds(fields, text, head);
    const own = (count++ === 0 && names) || kinds;
    yield fields.map(
      (field, index) => ofKind(field, own[index], empty) ?? toJson(field, isNumeric?.(index) ?? false, empty),
    );
  }
}

type Kinds = readonly (CsvColumn["kind"] | undefined)[];

/** Facts that the first line of CSV tells of all of it. */
interface Head {
  readonly columns: number;
  /** The kinds of its fields, if it has names of columns. */
  readonly names?: Kinds;
  /** The kinds of the fields in rows. */
  readonly kinds: Kinds;
}

function headOf(first: readonly string[], known: readonly CsvColumn[]): Head {
  const columns = first.length;
  const byName = new Map(known.map(({ name, kind }) => [name, kind]));
  const isKnown = (field: string) => byName.has(plainText(field));
  const isNumber = (field: string) => NUMBER.test(field.trim());
  if (!first.some((field) => isKnown(field) && !isNumber(field)))
    return { columns, kinds: columns === known.length ? known.map(({ kind }) => kind) : [] };
  const kinds = first.map((field) => byName.get(plainText(field)));
  // Names of digits are no numbers, unless there are unknown ones.
  const areNames = first.every((field) => plainText(field) === "" || isKnown(field));
  return {
    columns,
    kinds,
    names: kinds.map((kind, index) => (areNames || !isNumber(first[index] ?? "") ? "text" : kind)),
  };
}

/**
 * The kinds of the columns of rows, whose first one has these fields: where all of it is quoted, quotes say nothing,
 * and assumed numbers are some if the column has nothing else.
 */
function settledKinds(fields: readonly string[], text: string, { kinds, names }: Head): Kinds {
  const filled = fields.filter((field) => field.trim() !== "");
  if (!kinds.includes("assumed") || filled.length === 0 || !filled.every(isQuoted)) return kinds;
  const settled = [...kinds];
  const rows = readRows(text);
  if (names !== undefined) rows.next();
  for (const row of rows)
    for (const [index, field] of row.fields.entries())
      if (settled[index] === "assumed" && !isPlainNumber(plainText(field).trim())) settled[index] = undefined;
  return settled.map((kind, index) => (kind === "assumed" ? "number" : kinds[index]));
}

/** Checks for a number, or what may stand among numbers; texts of digits, such as postal codes, may begin with 0. */
function isPlainNumber(word: string): boolean {
  if (NUMBER.test(word)) return !LEADING_ZERO.test(word);
  return isDoubtful(word) || WORD_OF_TRUTH.test(word);
}

const LEADING_ZERO = /^[-+]?0\d/;

const WORD_OF_TRUTH = /^(?:(true)|false)$/i;

/**
 * The JSON of a field by the kind of its column: a text, a word of truth, or what stands in quotes among truth and
 * numbers; undefined for any other.
 */
function ofKind(field: string, kind: CsvColumn["kind"] | undefined, empty: string): string | undefined {
  if (kind === undefined) return undefined;
  // Texts of digits make no numbers of the missing ones beside them.
  if (kind === "text") return field.trim() === "" ? empty : JSON.stringify(plainText(field));
  const text = plainText(field).trim();
  if (text === "" && isQuoted(field)) return empty;
  if (kind === "assumed" && isQuoted(field)) return undefined;
  const word = WORD_OF_TRUTH.exec(text);
  if (word !== null) return String(kind === "truth" ? word[1] !== undefined : Number(word[1] !== undefined));
  if (kind === "assumed") return undefined;
  if (MISSING.test(text)) return empty;
  if (kind === "truth") return text === "0" || text === "1" ? String(text === "1") : undefined;
  if (INFINITE.test(text)) return infinityOf(text);
  return isQuoted(field) && NUMBER.test(text) && !LEADING_ZERO.test(text) ? toJson(text, false, empty) : undefined;
}

function isDoubtful(field: string): boolean {
  const word = field.trim();
  return MISSING.test(word) || INFINITE.test(word);
}

const HAS_NUMBER = 1;
const HAS_TEXT = 2;

/**
 * True for columns that have numbers, and else nothing but missing ones; for all columns if no field is a text. A first
 * line of names does not count: those of known columns, or different texts of which one has such numbers below it.
 */
function numericColumns(text: string, { columns, names }: Head): (index: number) => boolean {
  const rows = readRows(text);
  const first: readonly string[] = rows.next().value?.fields ?? [];
  const found = new Uint8Array(columns);
  for (const { fields } of rows)
    for (let index = 0; index < fields.length; index++) found[index]! |= kindOfWord(fields[index]!.trim());
  const words = first.map((field) => kindOfWord(field.trim()));
  const mayBeNames = words.every((kind) => kind === HAS_TEXT) && new Set(first.map(plainText)).size === columns;
  if (names === undefined && !(mayBeNames && found.includes(HAS_NUMBER)))
    for (const [index, kind] of words.entries()) found[index]! |= kind;
  const hasText = found.some((kind) => kind >= HAS_TEXT);
  return (index) => found[index] === HAS_NUMBER || (found[index] === 0 && !hasText);
}

function kindOfWord(word: string): number {
  if (NUMBER.test(word) || INFINITE.test(word)) return HAS_NUMBER;
  return MISSING.test(word) ? 0 : HAS_TEXT;
}

function toJson(field: string, isNumeric: boolean, empty: string): string {
  if (isQuoted(field)) return JSON.stringify(plainText(field));
  const text = field.trim();
  if (JSON_NUMBER.test(text)) return text;
  if (NUMBER.test(text)) return JSON.stringify(Number(text));
  if (!isNumeric) return text === "" ? empty : JSON.stringify(text);
  return MISSING.test(text) ? "NaN" : infinityOf(text);
}

function infinityOf(word: string): string {
  return word.startsWith("-") ? "-Infinity" : "Infinity";
}
