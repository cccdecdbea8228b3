import { invalidArgument } from "../../errors.ts";
import type { DecodeBudget } from "../../platform/limits/memory/decode-budget.ts";
import {
  isJsonList,
  isJsonObject,
  type JsonList,
  JsonNumbers,
  type JsonObject,
  type JsonValue,
  VALUE_BYTES,
} from "../../tensor/codecs/json/json-value.ts";
import { createRecord } from "../../tensor/record.ts";

/** A text that is missing, among those of a table's column: a byte that is in no UTF-8. */
export const MISSING_TEXT: Uint8Array = Uint8Array.of(0xff);

/** Texts that pandas takes for missing values when it reads CSV. */
const MISSING_TEXTS: ReadonlySet<string> = new Set([
  ...["", "nan", "NaN", "-nan", "-NaN", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>"],
  ...["null", "NULL", "None", "#N/A N/A", "1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN"],
]);

/** A row of a table: one value for each column. */
type Row = readonly (null | boolean | string | JsonNumbers)[];

/**
 * The columns, by the names of the features or else by their numbers, of rows that have numbers and texts, or that
 * begin with the names of the features; undefined for rows that make one tensor. Throws `invalid_argument` for names
 * without rows.
 */
export function columnsOfRows(
  instances: JsonList,
  features: readonly string[] | undefined,
  budget: DecodeBudget,
): JsonObject | undefined {
  const rows = toRows(instances, budget);
  const [first] = rows ?? [];
  if (rows === undefined || first === undefined) return undefined;
  const header = headerOf(first, features);
  const values = header === undefined ? rows : rows.slice(1);
  if (values.length === 0)
    throw invalidArgument("There are only the names of the features; expected rows behind them.");
  const known = features?.length === first.length ? features : undefined;
  if (header === undefined && !isMixed(values, known !== undefined)) return undefined;
  const columns = createRecord<JsonValue>();
  for (const [index, name] of (header ?? known ?? first.map((_, place) => String(place))).entries())
    columns[name] = values.map((row) => row[index] as JsonValue);
  return columns;
}

/** The instances with null for texts that mean in CSV that a value is missing. */
export function withoutMissingTexts(instances: JsonList): JsonList {
  return instances.map((instance) => (isJsonList(instance) ? instance.map(orNull) : orNull(instance)));
}

function orNull(value: JsonValue): JsonValue {
  return typeof value === "string" && MISSING_TEXTS.has(value) ? null : value;
}

/** Undefined where an instance is no row, or another has more values. */
function toRows(instances: JsonList, budget: DecodeBudget): readonly Row[] | undefined {
  const rows: Row[] = [];
  for (const instance of instances) {
    const row = toRow(instance, budget);
    if (row === undefined || row.length !== (rows[0] ?? row).length) return undefined;
    rows.push(row);
  }
  return rows;
}

function toRow(instance: JsonValue, budget: DecodeBudget): Row | undefined {
  if (isJsonList(instance)) return instance.every(isCell) ? (instance as Row) : undefined;
  if (!(instance instanceof JsonNumbers) || instance.shape.length !== 1) return undefined;
  budget.spend(instance.size * VALUE_BYTES, () => "a row beside others with texts");
  return Array.from({ length: instance.size }, (_, index) => instance.scalar(index));
}

function isCell(value: JsonValue): boolean {
  if (value instanceof JsonNumbers) return value.shape.length === 0;
  return !isJsonList(value) && !isJsonObject(value);
}

/** The names of the features, which may be in another order. */
function headerOf(row: Row, features: readonly string[] | undefined): readonly string[] | undefined {
  if (features?.length !== row.length) return undefined;
  const names = new Set(features);
  const isHeader = row.every((value) => typeof value === "string" && names.delete(value));
  return isHeader ? (row as readonly string[]) : undefined;
}

/**
 * Texts beside numbers or truth. Missing values may be beside any; beside texts they may be numbers, where columns have
 * names.
 */
function isMixed(rows: readonly Row[], hasNames: boolean): boolean {
  const kinds = new Set<string>();
  for (const row of rows) for (const value of row) kinds.add(value === null ? "null" : typeof value);
  const hasMissing = kinds.delete("null");
  return kinds.size > 1 || (hasMissing && hasNames && kinds.has("string"));
}
