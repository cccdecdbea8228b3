import { hintedError, listNames, missingInput, unknownName } from "../../error-info.ts";
import { invalidArgument, ServingError } from "../../errors.ts";
import { meantText, nearest } from "../../platform/text/nearest.ts";
import { shorten } from "../../platform/text/shorten.ts";
import { type JsonTensorRules, type Mismatch, mismatchHint } from "../../tensor/codecs/json/json-tensor.ts";
import {
  dumpJson,
  isJsonList,
  isJsonObject,
  JsonNumbers,
  type JsonObject,
  type JsonValue,
} from "../../tensor/codecs/json/json-value.ts";
import type { DType } from "../../tensor/dtype.ts";
import { elementCount, MAX_RANK } from "../../tensor/tensor.ts";
import { isBase64Object, rulesNaming } from "./json-tensor-rules.ts";

type Shape = readonly number[];
type Names = readonly string[];

/** Facts about a column's values. */
interface ColumnFacts {
  /** The dtype that the model is known to take, if the values that came determine how they are read. */
  readonly wanted?: DType | undefined;
  /** True if they came as rows. */
  readonly areRows?: boolean;
}

/** Errors about rows, which are counted from 0 here, and columns. TensorFlow Serving's routes have its texts. */
export interface RowErrors {
  /** The rules for the values of a column. */
  readonly inColumn: (name: string, rules: JsonTensorRules, facts: ColumnFacts) => JsonTensorRules;
  /** The rules for one value, to whose errors {@link inRow} adds the place. */
  readonly inValue: (input: string, rules: JsonTensorRules, facts: ColumnFacts) => JsonTensorRules;
  /** The error of a value in a row; `column` is its name there, if it has one. */
  readonly inRow: (row: number, reason: unknown, column?: string) => ServingError;
  /** A row whose value has another shape than that of the first row. */
  readonly otherShape: (shape: Shape, expected: Shape) => ServingError;
  /** A row without names below one with names. */
  readonly unnamedRow: (row: number, known: Names) => ServingError;
  /** A row with names below one without, which are for this input. */
  readonly namedRow: (row: number, input: string) => ServingError;
  /** A row with a column that is none of the known ones. */
  readonly unknownColumn: (row: number, name: string, known: Names) => ServingError;
  /** A row that lacks one of the known columns. */
  readonly missingValue: (row: number, values: JsonObject, known: Names) => ServingError;
  /** A column that is not among those sent. */
  readonly missingColumn: (name: string, sent: Names, known: Names) => ServingError;
  /** A request without any row. */
  readonly noRows: (root: JsonObject, known: Names) => ServingError;
}

/** Those of TensorFlow Serving's REST API. */
export const tensorflowErrors: RowErrors = {
  inColumn(name, rules, { areRows }) {
    const own = rulesNaming(name, rules);
    return areRows ? { ...own, refuse: (mismatch) => atRow(mismatch.path[0] ?? 0, own.refuse(mismatch), name) } : own;
  },
  inValue: rulesNaming,
  inRow(row, reason, column) {
    const { code, message, details } = ServingError.from(reason);
    const key = column === undefined ? "" : ` key: ${column}`;
    const text = `Failed to process element: ${row}${key} of 'instances' list. Error: ${code.toUpperCase()}: ${message}`;
    return new ServingError(code, text, { cause: reason, details });
  },
  otherShape(shape, expected) {
    const [size, wanted] = [elementCount(shape), elementCount(expected)];
    if (size !== wanted) return invalidArgument(`Expecting tensor size: ${wanted} but got: ${size}`);
    return invalidArgument(`Expecting shape [${expected}] but got: [${shape}]`);
  },
  unnamedRow: (row) => invalidArgument(`Expecting object but got list at item ${row} of input list`),
  namedRow: (row) => invalidArgument(`Expecting value/list but got object at item ${row} of input list`),
  unknownColumn(row, name, known) {
    const text = `JSON object: does not have named input: ${name}`;
    const hint = unknownName("UNKNOWN_INPUT", name, known);
    return tensorflowErrors.inRow(row, hintedError("invalid_argument", text, hint), name);
  },
  missingValue(row, values, known) {
    const names = [...known].sort();
    const text = `Failed to process element: ${row} of 'instances' list. JSON object: ${dumpJson(values)} keys must be equal to: ${names}`;
    return hintedError("invalid_argument", text, missingInput(lacking(values, names), names));
  },
  missingColumn(name, _, known) {
    const text = `Missing named input: ${name} in 'inputs' object.`;
    return hintedError("invalid_argument", text, missingInput(name, known));
  },
  noRows: (root) => invalidArgument(`JSON Value: ${dumpJson(root)} No values in 'instances' array`),
};

/** Those for rows and columns without a request of that API around them, named as people have written them. */
export const plainErrors: RowErrors = {
  inColumn(name, rules, { wanted }) {
    const addPlace: AddPlace = (text, [row]) =>
      row === undefined ? `${shown(name)}: ${text}` : textAt(row, text, name);
    return plainRules(name, rules, { wanted, addPlace });
  },
  inValue: plainRules,
  inRow: (row, reason, column) => atRow(row, reason, column),
  otherShape(shape, expected) {
    const text = `the value is ${shapeText(shape)}; expected ${shapeText(expected)}, as in row 1.`;
    return hintedError("invalid_argument", text, { reason: "WRONG_SHAPE", expected: `[${expected}]` });
  },
  unnamedRow(row, known) {
    const text = `Row ${row + 1} has no names; expected an object with a value for each column, as row 1 is: {"NAME": …}.`;
    return hintedError("invalid_argument", text, missingInput(known[0], known));
  },
  namedRow(row, field) {
    const text = `Row ${row + 1} is an object; expected values without names, as in row 1.`;
    return hintedError("invalid_argument", text, { reason: "WRONG_SHAPE", field });
  },
  unknownColumn(row, name, known) {
    const hint = unknownName("UNKNOWN_INPUT", name, known);
    const text = `Row ${row + 1} has the column ${shown(name)}; expected ${listed(known)}.${meantText(hint.didYouMean)}`;
    return hintedError("invalid_argument", text, hint);
  },
  missingValue(row, values, known) {
    const name = lacking(values, known);
    const text = `Row ${row + 1} has no value for the column ${shown(name ?? "")}; expected ${listed(known)}.`;
    return hintedError("invalid_argument", text, missingInput(name, known));
  },
  missingColumn(name, sent, known) {
    const names = new Set(known);
    const others = sent.filter((each) => !names.has(each));
    const meant = nearest(name, others);
    const advice = meant === undefined ? "" : ` There is ${shown(meant)}, which the model does not know.`;
    const text = `${shown(name)} is missing; expected ${listed(known)}.${advice}`;
    return hintedError("invalid_argument", text, missingInput(name, known));
  },
  noRows(_, known) {
    const columns = known.length > 1 ? `, with a value for each of ${listed(known)}` : "";
    const text = `There are no rows; expected one at least${columns}.`;
    if (known.length === 0) return invalidArgument(text);
    return hintedError("invalid_argument", text, missingInput(known[0], known));
  },
};

/** The error of rows without names for a model that takes several inputs. */
export function namelessRows(names: Names): ServingError {
  const example = names.slice(0, 2).map((name) => `${JSON.stringify(name)}: …`);
  const text = `The rows have no names, and the model takes ${listNames(names)}; send an object for each row: [{${example.join(", ")}}].`;
  return hintedError("invalid_argument", text, missingInput(names[0], names));
}

/** The error of a column with texts and others, of which nothing says which are right; `rows` has one of each. */
export function mixedKinds(name: string, values: readonly (JsonValue | undefined)[], rows: Shape): ServingError {
  const [first = 0, later = 0] = rows.toSorted((a, b) => a - b);
  const [before, value] = [first, later].map((row) => shown(values[row] ?? null));
  const text = `the value is ${value}, and ${before} in row ${first + 1}; expected texts alone or numbers alone, as the model was trained with.`;
  return hintedError("invalid_argument", textAt(later, text, name), { reason: "WRONG_DTYPE", field: name });
}

/** Characters of a list of names, which a client may have chosen. */
const MAX_LISTED = 400;

function listed(names: Names): string {
  return shorten(listNames(names), MAX_LISTED);
}

function lacking(values: JsonObject, known: Names): string | undefined {
  return known.find((name) => !Object.hasOwn(values, name));
}

function atRow(row: number, reason: unknown, column?: string): ServingError {
  const { code, message, details } = ServingError.from(reason);
  return new ServingError(code, textAt(row, message, column), { cause: reason, details });
}

function textAt(row: number, text: string, column?: string): string {
  return `Row ${row + 1}${column === undefined ? "" : `, ${shown(column)}`}: ${text}`;
}

type AddPlace = (text: string, path: Shape) => string;

/** Rules whose errors name the fault of a value; with `addPlace` it is a column, whose first index is the row. */
function plainRules(
  input: string,
  rules: JsonTensorRules,
  { wanted, addPlace }: ColumnFacts & { readonly addPlace?: AddPlace },
): JsonTensorRules {
  const atPlace: AddPlace = addPlace ?? ((text) => text);
  return {
    ...rules,
    refuse(mismatch) {
      const { code } = ServingError.from(rules.refuse(mismatch));
      const told = mismatch.kind === "type" && wanted ? { ...mismatch, dtype: wanted } : mismatch;
      const isInRow = addPlace !== undefined && mismatch.path.length > 0;
      const within = isInRow ? { ...told, path: told.path.slice(1), shape: told.shape.slice(1) } : told;
      return hintedError(code, atPlace(describe(within), mismatch.path), mismatchHint(input, told));
    },
    object(object, path) {
      try {
        return rules.object(object, path);
      } catch (cause) {
        const what = isBase64Object(object) ? "no base64" : "an object";
        const place = placeOf(addPlace === undefined ? path : path.slice(1));
        const text = `${place} is ${what}; expected a text, or bytes as {"b64": BASE64}.`;
        const hint = { reason: "WRONG_DTYPE", field: input, expected: "bytes" } as const;
        const { message, details } = hintedError("invalid_argument", atPlace(text, path), hint);
        throw new ServingError("invalid_argument", message, { details, cause });
      }
    },
  };
}

function describe(mismatch: Mismatch): string {
  const { path, shape } = mismatch;
  const what = placeOf(path);
  switch (mismatch.kind) {
    case "type":
      return `${what} is ${shown(mismatch.value)}; expected ${kindOf(mismatch.dtype)}.`;
    case "size":
      return `${what} is a list of ${mismatch.size}; expected a list of ${shape[path.length]}, as the first one is.`;
    case "list":
      return `${what} is a list; expected one value, as the first one is.`;
    case "value":
      return `${what} is ${shown(mismatch.value)}; expected a list of ${shape[path.length]}, as the first one is.`;
    case "rank":
      return `the lists are nested more than ${MAX_RANK} levels deep; a tensor has at most so many dimensions.`;
  }
}

function placeOf(path: Shape): string {
  return path.length === 0 ? "the value" : `value ${path.map((index) => index + 1).join(", ")}`;
}

/** A value as people know it: an empty field of CSV is null, or NaN. */
function shown(value: JsonValue): string {
  if (value === null) return "missing (null)";
  if (isJsonList(value) || (value instanceof JsonNumbers && value.shape.length > 0)) return "a list";
  if (isJsonObject(value)) return "an object";
  const isMissing = value instanceof JsonNumbers && Number.isNaN(Number(value.at(0)));
  return isMissing ? "missing (NaN)" : dumpJson(value);
}

/** The kind of values that have a dtype. */
function kindOf(dtype: DType): string {
  if (dtype === "bytes") return "a text";
  if (dtype === "bool") return "true or false";
  return /int/.test(dtype) ? `a whole number (${dtype})` : `a number (${dtype})`;
}

function shapeText(shape: Shape): string {
  if (shape.length === 0) return "one value";
  return shape.length === 1 ? `a list of ${shape[0]}` : `a list of the shape [${shape}]`;
}
