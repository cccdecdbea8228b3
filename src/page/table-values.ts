import type { PageColumn, PageExampleInput, PageTable, PageTensor } from "../protocols/page/page-data.ts";
import { csvFields, isMissing, MISSING_TEXT } from "../tensor/codecs/csv.ts";
import { isObject } from "../tensor/record.ts";
import type { Element, FormTensor } from "./form-tensor.ts";
import { parseElement } from "./parse-values.ts";

/** The cells of a row as a person has written them, in the order of the columns; an empty one is a missing value. */
export type WrittenRow = readonly string[];

/** Rows with the names of their columns, which may be in another order than the model's. */
export interface WrittenTable {
  readonly names: readonly string[];
  readonly rows: readonly WrittenRow[];
}

/** Checks that a value is a {@link WrittenTable}. */
export function isWrittenTable(value: unknown): value is WrittenTable {
  return isObject(value) && isTexts(value.names) && Array.isArray(value.rows) && value.rows.every(isTexts);
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((text) => typeof text === "string");
}

/** The rows with their cells in the order of the columns; what a table lacks is missing. */
export function rowsInOrder({ names, rows }: WrittenTable, columns: readonly PageColumn[]): readonly WrittenRow[] {
  const places = columns.map(({ name }, index) => (names[index] === name ? index : names.indexOf(name)));
  return rows.map((row) => places.map((place) => row[place] ?? ""));
}

/** The row that a form begins with. */
export function firstRow(columns: readonly PageColumn[], found: readonly PageExampleInput[]): WrittenRow {
  // An example of all columns has the name of the input that has them.
  const all = found.find((one) => !columns.some(({ name }) => name === one.name));
  return columns.map(({ name, datatype }) => {
    const example = found.find((one) => one.name === name) ?? all;
    const element = example?.element ?? (datatype === "BYTES" ? "text" : 0);
    return datatype === "BOOL" ? String(element === 1) : String(element);
  });
}

/** The inputs that a table's rows make. Throws an Error that names the row and the column. */
export function toTableTensors(
  inputs: readonly PageTensor[],
  { columns, knowsMissingTexts }: PageTable,
  rows: readonly WrittenRow[],
): readonly FormTensor[] {
  const elements = rows.map((row, at) =>
    columns.map((column, index) => {
      try {
        return toCell(row[index] ?? "", column, knowsMissingTexts);
      } catch (reason) {
        throw new Error(`Row ${at + 1}, ${column.name}: ${reason instanceof Error ? reason.message : reason}`);
      }
    }),
  );
  const [only] = inputs;
  if (only !== undefined && inputs.length === 1 && only.shape?.length === 2) {
    const { name, datatype } = only;
    return [{ name, datatype, shape: [rows.length, columns.length], values: elements.flat() }];
  }
  return inputs.map(({ name, datatype, shape = [] }, index) => ({
    ...{ name, datatype },
    shape: shape.length === 2 ? [rows.length, 1] : [rows.length],
    values: elements.flatMap((row) => row[index] ?? []),
  }));
}

function toCell(text: string, { datatype }: PageColumn, knowsMissingTexts: boolean): Element {
  if (datatype === "BYTES") return text === "" && knowsMissingTexts ? MISSING_TEXT : text;
  if (text.trim() !== "") return parseElement(text, datatype);
  if (mayMiss(datatype)) return Number.NaN;
  throw new Error(`${datatype} has no form for a missing value; write one.`);
}

/** Checks that a column of numbers may lack some: floats have NaN. */
export function mayMiss(datatype: string): boolean {
  return /^(?:FP|BF)/.test(datatype);
}

/** Rows that a form takes. */
const MAX_ROWS = 10_000;

/**
 * Rows of CSV, with a line of names or else in the order of the columns, or as they are copied from a spreadsheet; and
 * the names of columns that the model does not have. Throws an Error that names the expected form.
 */
export function readRows(
  text: string,
  { columns, knowsMissingTexts }: PageTable,
): { readonly rows: readonly WrittenRow[]; readonly unknown: readonly string[] } {
  const [first = [], ...others] = linesOf(text);
  const known = columns.map(({ name }) => name);
  const hasNames = first.some((field) => known.includes(field));
  const names = hasNames ? first : known;
  const lines = hasNames || first.length === 0 ? others : [first, ...others];
  const missing = known.filter((name) => !names.includes(name));
  if (missing.length > 0) throw new Error(`The rows lack ${missing.join(", ")}; expected ${known.join(", ")}.`);
  if (lines.length === 0) throw new Error(`There are no rows; expected a line for each, with ${known.join(", ")}.`);
  if (lines.length > MAX_ROWS) throw new Error(`There are ${lines.length} rows; the form takes up to ${MAX_ROWS}.`);
  const odd = lines.findIndex(({ length }) => length !== names.length);
  if (odd >= 0)
    throw new Error(`Row ${odd + 1} has ${lines[odd]?.length} values; expected ${names.length}: ${names.join(", ")}.`);
  const rows = rowsInOrder({ names, rows: lines }, columns).map((row) =>
    row.map((field, index) => {
      const isText = columns[index]?.datatype === "BYTES";
      return isMissing(field) && (knowsMissingTexts || !isText) ? "" : field;
    }),
  );
  return { rows, unknown: names.filter((name) => !known.includes(name)) };
}

/** Cells of spreadsheets are copied with tabs between them. */
function linesOf(text: string): readonly WrittenRow[] {
  const [head = ""] = text.split("\n", 1);
  if (!head.includes("\t")) return [...csvFields(text)];
  const lines = text.split(/\r?\n/).filter((line) => line !== "");
  return lines.map((line) => line.split("\t"));
}

/** The least and the greatest of categories that are whole numbers without a gap; undefined for others. */
export function rangeOfCategories({ datatype, categories = [] }: PageColumn): readonly [number, number] | undefined {
  if (datatype === "BYTES" || categories.length < 3) return undefined;
  const numbers = categories.map(Number).toSorted((one, other) => one - other);
  const [low = 0] = numbers;
  return numbers.every((value, index) => value === low + index) && Number.isInteger(low)
    ? [low, low + numbers.length - 1]
    : undefined;
}
