import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { meantFile } from "../../drivers/file-kind.ts";
import { failedPrecondition, invalidArgument, reasonText } from "../../errors.ts";
import { readProblem } from "../../platform/text/file-problem.ts";
import { columnsOfTable } from "../../protocols/csv-columns.ts";
import { toPredictBody } from "../../protocols/sagemaker/http-codec.ts";
import { decodePredict } from "../../protocols/tensorflow-serving/http-request.ts";
import { pythonCommands } from "../../storage/runtimes/python.ts";
import { csvFields } from "../../tensor/codecs/csv.ts";
import { csvValues } from "../../tensor/codecs/csv-to-json-rows.ts";
import { readNpy } from "../../tensor/codecs/npy.ts";
import type { Values } from "../../tensor/plain-value.ts";
import { isPlainObject } from "../../tensor/record.ts";
import { DEFAULT_SIGNATURE, type Signature } from "../../tensor/signature/signature.ts";

type Value = Values[string];

/**
 * Reads `--input` flags: `NAME=@FILE` (npy, json, csv, parquet, else the file's bytes, such as an image), `NAME=JSON`,
 * `NAME=1,2` for an input of numbers, `NAME=text`; `@FILE` alone is the only input, or a JSON file with all inputs, by
 * name or as KServe V2 has them, or the rows of a model of tables. `options`: those of `-o`, of which `python` names an
 * interpreter. Throws `invalid_argument`, and `failed_precondition` if no Python here reads Parquet.
 */
export async function readInputs(
  flags: readonly string[],
  signature: Signature = {},
  options: readonly string[] = [],
): Promise<Values> {
  const values: Record<string, Value> = Object.create(null);
  const python = options.map((option) => /^python=(.+)$/s.exec(option)?.[1]).findLast(Boolean);
  for (const flag of flags)
    for (const [name, value] of await readFlag(flag, signature, python)) {
      if (Object.hasOwn(values, name)) throw invalidArgument(`--input gives "${name}" twice.`);
      values[name] = value;
    }
  return values;
}

async function readFlag(flag: string, signature: Signature, python?: string): Promise<(readonly [string, Value])[]> {
  const { inputs } = signature;
  const [, name, text] = /^([^=@[{]*)=(.*)$/s.exec(flag) ?? [];
  if (name !== undefined && text !== undefined) {
    const isNumeric = inputs?.some((spec) => spec.name === name && spec.dtype !== "bytes") === true;
    const listed = isNumeric && NUMBERS.test(text) ? `[${text}]` : text;
    return [[name, await readValue(listed, name, python)]];
  }
  const table = isTable(signature) ? await readTable(flag, signature, python) : undefined;
  if (table !== undefined) return Object.entries(table);
  const value = await readValue(flag, flag, python);
  if (isRequest(value)) return entriesOf(value);
  const names = (inputs ?? []).filter((spec) => spec.default === undefined).map((spec) => spec.name);
  const [only] = names;
  if (only !== undefined && names.length === 1) return [[only, value]];
  const known = names.length === 0 ? "" : ` The model has ${names.join(", ")}.`;
  throw invalidArgument(`--input is "${flag}", which does not say for which input; expected NAME=${flag}.${known}`);
}

/** Numbers with commas between them, for an input of numbers: shells take brackets for themselves. */
const NUMBERS = /^\s*[-\d.][^,[\]{}"]*(,\s*[-\d.][^,[\]{}"]*)+$/;

/** A server tells of a model's columns, and not that they are a table's. */
function isTable({ inputs, isTabular }: Signature): boolean {
  if (inputs === undefined) return isTabular === true;
  return inputs.length > 0 && inputs.every(({ shape }) => shape?.length === 1 && shape[0] === -1);
}

/** Checks that rows name the only input, which other values are for too: the first line of CSV, or keys of objects. */
async function hasRowsOf(name: string, flag: string): Promise<boolean> {
  if (CSV_FILE.test(flag)) {
    const { value: first } = csvFields(String(await readBytes(flag.slice(1)))).next();
    return first?.includes(name) === true;
  }
  // Other files may be read once alone, such as a pipe.
  const rows = /^(?!@)|\.json$/i.test(flag) && (await readValue(flag, flag));
  return Array.isArray(rows) && rows.some((row) => isPlainObject(row) && Object.hasOwn(row, name));
}

const CSV_FILE = /^@.*\.csv$/i;

/** Columns that a message names. */
const MAX_NAMES = 20;

/** Most memory that the values of a table take, in bytes. */
const MAX_TABLE_BYTES = 1024 ** 3;

/** Rows of a table, from JSON, CSV or Parquet, as a server reads them; undefined for other values. */
async function readTable(flag: string, signature: Signature, python?: string): Promise<Values | undefined> {
  const isCsv = CSV_FILE.test(flag);
  const [only, ...others] = signature.inputs ?? [];
  if (only !== undefined && others.length === 0 && !(await hasRowsOf(only.name, flag))) return undefined;
  const body = isCsv
    ? toPredictBody(await readBytes(flag.slice(1)), "csv", MAX_TABLE_BYTES, columnsOfTable(signature)).json
    : await readTableBody(flag, signature, python);
  const signatures = { [DEFAULT_SIGNATURE]: { ...signature, isTabular: true as const } };
  return body && decodePredict(body, signatures, MAX_TABLE_BYTES, { isCsv, isPlain: true }).inputs;
}

async function readTableBody(flag: string, signature: Signature, python?: string): Promise<Buffer | undefined> {
  // As Python has written it: no number is rounded.
  if (/^@.*\.parquet$/i.test(flag)) return Buffer.from(`{"inputs":${await readParquet(flag.slice(1), python)}}`);
  const value = byName(await readValue(flag, flag, python), signature);
  const isList = Array.isArray(value) && (signature.inputs === undefined || value.every(isPlainObject));
  const isRows = isList || (isRequest(value) && !("inputs" in value) && hasAllOf(value, signature));
  return isRows ? Buffer.from(JSON.stringify({ [Array.isArray(value) ? "instances" : "inputs"]: value })) : undefined;
}

/** Rows without names have the order of the columns; one of another length is refused. */
function byName(value: Value, { inputs }: Signature): Value {
  if (inputs === undefined || !Array.isArray(value) || !value.every(Array.isArray)) return value;
  const names = inputs.map(({ name }) => name);
  const other = value.find((row) => row.length !== names.length);
  if (other !== undefined)
    throw invalidArgument(
      `--input has a row of ${other.length} values; the model has ${names.length} columns, ${names.slice(0, MAX_NAMES).join(", ")}.`,
    );
  return value.map((row) => Object.fromEntries(names.map((name, index) => [name, row[index]])));
}

/** Other flags may give what an object lacks, and a name that no input has is told as such. */
function hasAllOf(value: object, { inputs }: Signature): boolean {
  if (inputs === undefined) return true;
  const names = new Set(inputs.map(({ name }) => name));
  return Object.keys(value).length === names.size && Object.keys(value).every((name) => names.has(name));
}

async function readValue(text: string, place: string, python?: string): Promise<Value> {
  if (text.startsWith("@")) return readValueFile(text.slice(1), python);
  return /^[[{"\d.-]|^(true|false)$/.test(text) ? parseJson(text, `--input ${place}`, text) : text;
}

function readBytes(path: string): Promise<Buffer> {
  return readFile(path).catch((cause) => {
    throw invalidArgument(
      `The input "${path}" ${readProblem(cause)}; expected a file that can be read.${meantFile(path)}`,
      cause,
    );
  });
}

/** The columns of a table as JSON, missing values as null. */
const PRINT_COLUMNS = `
import json, sys
import pyarrow.parquet
columns = pyarrow.parquet.read_table(sys.argv[1]).to_pydict()
plain = {name: [None if one != one else one for one in values] for name, values in columns.items()}
json.dump(plain, sys.stdout, default=lambda one: one.decode() if isinstance(one, bytes) else str(one))`;

const run = promisify(execFile);

async function readParquet(path: string, python?: string): Promise<Buffer> {
  await readBytes(path);
  const commands = python === undefined ? pythonCommands() : [python];
  for (const command of commands) {
    const options = { encoding: "buffer", maxBuffer: MAX_TABLE_BYTES, windowsHide: true } as const;
    const { stdout, stderr } = await run(command, ["-c", PRINT_COLUMNS, path], options).catch(
      (reason: { stderr?: Buffer }) => ({ stdout: undefined, stderr: reason.stderr }),
    );
    if (stdout !== undefined) return stdout;
    const said = String(stderr ?? "").trim();
    if (said !== "" && !/No module named '?pyarrow/.test(said))
      throw invalidArgument(`"${path}" is no Parquet that pyarrow reads: ${said.split("\n").at(-1)}`);
  }
  throw failedPrecondition(
    `"${path}" is read by pyarrow, which ${commands.join(", ")} does not have; expected -o python=FILE, an interpreter with it (pip install pyarrow), or the same rows as CSV.`,
  );
}

/** A column with NaN for the numbers that are missing. */
function withMissing(column: readonly Value[]): readonly Value[] {
  return column.some((value) => typeof value === "number") ? column.map((value) => value ?? Number.NaN) : column;
}

/** Rows of several columns, or the values of one. */
function rowsOfColumns(columns: readonly (readonly Value[])[]): Value {
  const [first = [], ...others] = columns;
  return (others.length === 0 ? first : first.map((_, row) => columns.map((column) => column[row]))) as Value;
}

async function readValueFile(path: string, python?: string): Promise<Value> {
  const bytes = await readBytes(path);
  if (/\.parquet$/i.test(path)) {
    const columns: readonly (readonly Value[])[] = Object.values(JSON.parse(String(await readParquet(path, python))));
    return rowsOfColumns(columns.map(withMissing));
  }
  if (/\.npy$/i.test(path)) return readNpy(bytes);
  if (/\.json$/i.test(path)) return parseJson(bytes.toString(), `"${path}"`);
  if (/\.csv$/i.test(path)) return csvValues(bytes.toString());
  return bytes;
}

/** A text that begins as JSON does but is not JSON stays a text if it came from the command line. */
function parseJson(text: string, place: string, otherwise?: string): Value {
  try {
    return JSON.parse(text);
  } catch (cause) {
    if (otherwise !== undefined && !/^[[{]/.test(text)) return otherwise;
    throw invalidArgument(`${place} is not JSON: ${reasonText(cause)}.`, cause);
  }
}

/** A JSON object has all inputs. */
function isRequest(value: Value | undefined): value is { readonly [key: string]: unknown } {
  return (
    typeof value === "object" &&
    value !== null &&
    Object.getPrototypeOf(value) === Object.prototype &&
    !("dtype" in value)
  );
}

function entriesOf(request: { readonly [key: string]: unknown }): (readonly [string, Value])[] {
  const { inputs } = request;
  if (Array.isArray(inputs)) return inputs.map(fromV2);
  const named = typeof inputs === "object" && inputs !== null ? inputs : request;
  return Object.entries(named) as [string, Value][];
}

/** An input of KServe V2's JSON: its data may be flat. */
function fromV2(input: {
  name?: unknown;
  datatype?: unknown;
  shape?: unknown;
  data?: unknown;
}): readonly [string, Value] {
  const { name, shape, data } = input;
  if (typeof name !== "string" || !Array.isArray(shape) || !Array.isArray(data))
    throw invalidArgument("An input of the request lacks its name, shape or data, as KServe V2's JSON has them.");
  const isFlat = shape.length !== 1 && !Array.isArray(data[0]);
  return [name, isFlat ? nest(data, shape.map(Number)) : data];
}

function nest(data: readonly unknown[], shape: readonly number[]): Value {
  if (shape.length === 0) return data[0] as Value;
  if (shape.length === 1) return data as Value;
  const [size = 0, ...rest] = shape;
  const step = data.length / size;
  return Array.from({ length: size }, (_, index) => nest(data.slice(index * step, (index + 1) * step), rest)) as Value;
}
