import type { DecodeBudget } from "../../platform/limits/memory/decode-budget.ts";
import {
  CONTAINER_BYTES,
  isJsonList,
  type JsonList,
  type JsonObject,
  type JsonValue,
  VALUE_BYTES,
} from "../../tensor/codecs/json/json-value.ts";
import { createRecord } from "../../tensor/record.ts";
import { isNamedInstance } from "./http-rows.ts";

/**
 * The rows of a data frame as KServe's clients write it, in forms that TensorFlow Serving does not have: objects as
 * `inputs`; an instance that is a list of objects, each a row; an object of objects, which has by column the values of
 * its rows. For a model of tables, rows that are objects are one too. A value that a row lacks is null. Undefined where
 * the request has none of these.
 */
export function readDataFrame(
  { instances, inputs }: JsonObject,
  isTabular: boolean,
  budget: DecodeBudget,
): JsonList | undefined {
  const frames = inputs ?? instances;
  if (frames === undefined || !isJsonList(frames)) return undefined;
  const [first = null] = frames;
  const isFrame =
    isListOfRows(first) || isTable(first) || ((isTabular || inputs !== undefined) && isNamedInstance(first));
  if (!isFrame) return undefined;
  const rows = frames.flatMap((frame) => rowsOf(frame, budget));
  return rows.length === 0 ? undefined : completeRows(rows, budget);
}

function rowsOf(frame: JsonValue, budget: DecodeBudget): JsonList {
  if (isListOfRows(frame)) return frame;
  return isTable(frame) ? toRows(frame, budget) : [frame];
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

function toRows(table: Table, budget: DecodeBudget): readonly JsonObject[] {
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

function completeRows(rows: JsonList, budget: DecodeBudget): JsonList {
  const records = rows.filter(isNamedInstance);
  const names = [...new Set(records.flatMap((row) => Object.keys(row)))];
  if (records.every((row) => Object.keys(row).length === names.length)) return rows;
  budget.spend(rows.length * names.length * VALUE_BYTES, () => "the data frame with all columns in each row");
  return rows.map((row) => (isNamedInstance(row) ? complete(row, names) : row));
}

function complete(row: JsonObject, names: readonly string[]): JsonObject {
  const all = createRecord<JsonValue>();
  for (const name of names) all[name] = row[name] ?? null;
  return all;
}
