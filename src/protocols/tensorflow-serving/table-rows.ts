import { hintedError, listNames } from "../../error-info.ts";
import { invalidArgument, type ServingError } from "../../errors.ts";
import type { DecodeBudget } from "../../platform/limits/memory/decode-budget.ts";
import { misspelt } from "../../platform/text/nearest.ts";
import { isMissing } from "../../tensor/codecs/csv.ts";
import {
  CONTAINER_BYTES,
  dumpJson,
  isJsonList,
  isJsonObject,
  type JsonList,
  JsonNumbers,
  type JsonObject,
  type JsonValue,
  VALUE_BYTES,
} from "../../tensor/codecs/json/json-value.ts";
import { createRecord } from "../../tensor/record.ts";
import { isNamedInstance } from "./http-rows.ts";
import { plainErrors } from "./row-errors.ts";

/** A row of a table: one value for each column. */
type Row = readonly (null | boolean | string | JsonNumbers)[];

/** Rows of a table, and facts by which they are told from others. */
interface RowsOfTable {
  readonly instances: JsonList;
  /** The names of the model's columns, if they are known. */
  readonly features: readonly string[] | undefined;
  /** True for the lines of CSV, the first of which may have names that the model does not know. */
  readonly isCsv: boolean;
  /** True if only rows below names are a table. Default false. */
  readonly needsNames?: boolean;
}

/**
 * The columns, by the names of the features or else by their numbers, of rows that have numbers and texts, or that
 * begin with names; undefined for rows that make one tensor. Throws `invalid_argument` for names without rows.
 */
export function columnsOfRows(
  { instances, features, isCsv, needsNames = false }: RowsOfTable,
  budget: DecodeBudget,
): JsonObject | undefined {
  // Rows of others are left as they are, which costs nothing.
  if (needsNames && ![instances[0] ?? null].flat().every(mayBeHead)) return undefined;
  const rows = toRows(instances, { isCsv, budget });
  if (rows === undefined && !needsNames && features !== undefined) refuseOtherLength(instances, features);
  const [first] = rows ?? [];
  if (rows === undefined || first === undefined) return undefined;
  const header = isCsv ? headerOfCsv(rows, features) : headerOf(first, features);
  const values = header === undefined ? rows : rows.slice(1);
  if (values.length === 0)
    throw invalidArgument("There are only the names of the features; expected rows behind them.");
  const known = features?.length === first.length ? features : undefined;
  if (header === undefined && (needsNames || !isMixed(values, known !== undefined))) return undefined;
  if (header === undefined && known === undefined && features !== undefined)
    throw otherLength(0, first.length, features);
  const columns = createRecord<JsonValue>();
  for (const [index, name] of (header ?? known ?? first.map((_, place) => String(place))).entries()) {
    if (name === null) continue;
    if (name in columns) throw repeatedColumn(name, features);
    columns[name] = values.map((row) => row[index] as JsonValue);
  }
  return columns;
}

/** The instances with null for texts that mean in CSV that a value is missing. */
export function withoutMissingTexts(instances: JsonList): JsonList {
  return instances.map((instance) => (isJsonList(instance) ? instance.map(orNull) : orNull(instance)));
}

function orNull(value: JsonValue): JsonValue {
  return typeof value === "string" && isMissing(value) ? null : value;
}

/**
 * Throws `invalid_argument` for rows of cells of which one has another number of them than the model has features, and
 * below names for anything else.
 */
function refuseOtherLength(instances: JsonList, features: readonly string[]): void {
  const [first = null] = instances;
  const hasNames = isJsonList(first) && first.every(isCell) && headerOf(first as Row, features) !== undefined;
  const lengths = instances.map(cellCount);
  const other = lengths.findIndex((length) => length !== features.length);
  const row = hasNames ? other - 1 : other;
  const length = lengths[other];
  if (hasNames && length === undefined && other >= 0) throw noRow(row, instances[other] ?? null, features);
  if ((!hasNames && lengths.includes(undefined)) || lengths.every((each) => each === lengths[0])) return;
  throw otherLength(row, length ?? 0, features);
}

function noRow(row: number, instance: JsonValue, features: readonly string[]): ServingError {
  const what =
    isJsonList(instance) || instance instanceof JsonNumbers ? "has lists or objects among its values" : "is no list";
  const text = `Row ${row + 1} ${what}; expected a value for each of ${listNames(features)}, as the names before the rows.`;
  return hintedError("invalid_argument", text, { reason: "WRONG_SHAPE", expected: `[${features.length}]` });
}

function otherLength(row: number, length: number, features: readonly string[]): ServingError {
  const [values, columns] = [`${length} value`, `${features.length} column`].map((text) =>
    text.startsWith("1 ") ? text : `${text}s`,
  );
  const text = `Row ${row + 1} has ${values}; the model has ${columns}: ${listNames(features)}.`;
  return hintedError("invalid_argument", text, { reason: "WRONG_SHAPE", expected: `[${features.length}]` });
}

function repeatedColumn(name: string, features: readonly string[] = []): ServingError {
  const expected = features.length > 0 ? listNames(features) : undefined;
  const text = `The column ${dumpJson(name)} comes twice; expected ${expected ?? "each name"} once.`;
  return hintedError("invalid_argument", text, { reason: "WRONG_SHAPE", field: name, expected });
}

function cellCount(row: JsonValue): number | undefined {
  if (isJsonList(row)) return row.every(isCell) ? row.length : undefined;
  return row instanceof JsonNumbers && row.shape.length === 1 ? row.size : undefined;
}

/** Undefined if an instance is no row, or another has more values. A line of one column is no list. */
function toRows(
  instances: JsonList,
  { isCsv, budget }: Pick<RowsOfTable, "isCsv"> & { readonly budget: DecodeBudget },
): readonly Row[] | undefined {
  const rows: Row[] = [];
  for (const instance of instances) {
    const row = isCsv && isCell(instance) ? toRow([instance], budget) : toRow(instance, budget);
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
 * The names of the first line, one of which is a feature's, or has numbers below it. Beside a feature's name a column
 * may have none, such as the index that pandas or R writes.
 */
function headerOfCsv(
  [first = [], second = []]: readonly Row[],
  features: readonly string[] = [],
): readonly (string | null)[] | undefined {
  if (!first.every(mayBeHead)) return undefined;
  const known = new Set(features);
  if (first.some((name) => name !== null && known.has(name))) return first.map((name) => name || null);
  const isHeader =
    first.every(isName) &&
    new Set(first).size === first.length &&
    first.some((_, index) => second[index] instanceof JsonNumbers);
  return isHeader ? first : undefined;
}

function mayBeHead(cell: JsonValue): cell is string | null {
  return cell === null || typeof cell === "string";
}

function isName(cell: JsonValue): cell is string {
  return typeof cell === "string" && cell !== "";
}

/**
 * Texts beside numbers or truth. Missing values may be beside any; beside texts they may be numbers, if columns have
 * names.
 */
function isMixed(rows: readonly Row[], hasNames: boolean): boolean {
  const kinds = new Set<string>();
  for (const row of rows) for (const value of row) kinds.add(value === null ? "null" : typeof value);
  const hasMissing = kinds.delete("null");
  return kinds.size > 1 || (hasMissing && hasNames && kinds.has("string"));
}

/**
 * The rows of a data frame as KServe's clients write it, in forms that TensorFlow Serving does not have: objects as
 * `inputs`; an instance that is a list of objects, each a row; an object of objects, which has by column the values of
 * its rows. For a model of tables, rows that are objects are one too, and so is an object of lists, its columns. A
 * value that a row lacks is null. Undefined if the request has none of these. Throws `invalid_argument` for a row that
 * lacks a feature and has a value under nearly its name.
 */
export function readDataFrame(
  { instances, inputs }: JsonObject,
  { isTabular, features }: FrameOfModel,
  budget: DecodeBudget,
): JsonList | undefined {
  const frames = inputs ?? instances;
  if (frames === undefined || !isJsonList(frames)) return undefined;
  const [first = null] = frames;
  const isFrame =
    isListOfRows(first) || isTable(first) || ((isTabular || inputs !== undefined) && isNamedInstance(first));
  if (!isFrame) return undefined;
  const rows = frames.flatMap((frame) => rowsOf(frame, isTabular, budget));
  return rows.length === 0 ? undefined : completeRows(rows, features, budget);
}

/** Facts about a model by which data frames are read. */
interface FrameOfModel extends Pick<RowsOfTable, "features"> {
  /** See {@link Signature.isTabular}. */
  readonly isTabular: boolean;
}

function rowsOf(frame: JsonValue, isTabular: boolean, budget: DecodeBudget): JsonList {
  if (isListOfRows(frame)) return frame;
  if (isTable(frame)) return rowsOfTable(frame, budget);
  return (isTabular && rowsOfColumns(frame, budget)) || [frame];
}

/** The rows of an object that has a list of one length for each column; undefined for any other. */
function rowsOfColumns(frame: JsonValue, budget: DecodeBudget): readonly JsonObject[] | undefined {
  if (!isNamedInstance(frame)) return undefined;
  const columns = Object.entries(frame).map(([name, column]) => [name, toRow(column, budget)] as const);
  const [[, first] = []] = columns;
  if (first === undefined || columns.some(([, column]) => column?.length !== first.length)) return undefined;
  const bytes = first.length * (CONTAINER_BYTES + columns.length * VALUE_BYTES);
  budget.spend(bytes, () => "the rows of the data frame");
  return first.map((_, index) => {
    const row = createRecord<JsonValue>();
    for (const [name, column = []] of columns) row[name] = column[index] as JsonValue;
    return row;
  });
}

function isListOfRows(frame: JsonValue): frame is readonly JsonObject[] {
  return isJsonList(frame) && areRecords(frame);
}

function isTable(frame: JsonValue): frame is Table {
  return isNamedInstance(frame) && areRecords(Object.values(frame));
}

/** Columns by their names, each with values by the rows' keys. */
type Table = Readonly<Record<string, JsonObject>>;

function areRecords(values: JsonList): values is readonly JsonObject[] {
  return values.length > 0 && values.every(isNamedInstance);
}

function rowsOfTable(table: Table, budget: DecodeBudget): readonly JsonObject[] {
  const rows = new Map<string, Record<string, JsonValue>>();
  for (const [name, column] of Object.entries(table))
    for (const [key, value] of Object.entries(column)) rowAt(rows, key)[name] = value;
  budget.spend(rows.size * CONTAINER_BYTES, () => "the rows of the data frame");
  return [...rows.values()];
}

function rowAt(rows: Map<string, Record<string, JsonValue>>, key: string): Record<string, JsonValue> {
  const row = rows.get(key) ?? createRecord<JsonValue>();
  rows.set(key, row);
  return row;
}

function completeRows(rows: JsonList, features: readonly string[] | undefined, budget: DecodeBudget): JsonList {
  const records = rows.filter(isNamedInstance);
  const names = [...new Set(records.flatMap((row) => Object.keys(row)))];
  if (records.every((row) => Object.keys(row).length === names.length)) return rows;
  if (features !== undefined) refuseMisspelt(rows, names, features);
  budget.spend(rows.length * names.length * VALUE_BYTES, () => "the data frame with all columns in each row");
  return rows.map((row) => (isNamedInstance(row) ? complete(row, names) : row));
}

/** Unknown names that are compared with the features. */
const MAX_COMPARED = 10;

/**
 * Rows that lack a value have a missing one, which a misspelt column does not mean. A name that a row has beside the
 * feature is another column's.
 */
function refuseMisspelt(rows: JsonList, names: readonly string[], features: readonly string[]): void {
  const known = new Set(features);
  const unknown = names.filter((name) => !known.has(name)).slice(0, MAX_COMPARED);
  for (const name of unknown) {
    const feature = misspelt(name, features);
    if (feature === undefined) continue;
    const having = rows.filter((each) => isNamedInstance(each) && Object.hasOwn(each, name));
    const [first] = having;
    if (first === undefined || having.some((each) => Object.hasOwn(each as JsonObject, feature))) continue;
    throw plainErrors.unknownColumn(rows.indexOf(first), name, features);
  }
}

function complete(row: JsonObject, names: readonly string[]): JsonObject {
  const all = createRecord<JsonValue>();
  for (const name of names) all[name] = row[name] ?? null;
  return all;
}
