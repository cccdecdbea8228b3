import { readFile } from "node:fs/promises";
import { invalidArgument, reasonText } from "../../errors.ts";
import { readProblem } from "../../platform/text/file-problem.ts";
import { toPredictBody } from "../../protocols/sagemaker/http-codec.ts";
import { decodePredict } from "../../protocols/tensorflow-serving/http-request.ts";
import { csvToJsonRows } from "../../tensor/codecs/csv-to-json-rows.ts";
import { readNpy } from "../../tensor/codecs/npy.ts";
import type { Values } from "../../tensor/plain-value.ts";
import { isPlainObject } from "../../tensor/record.ts";
import { DEFAULT_SIGNATURE, type Signature } from "../../tensor/signature/signature.ts";

type Value = Values[string];

/**
 * Reads `--input` flags: `NAME=@FILE` (npy, json, csv, else the file's bytes, such as an image), `NAME=JSON`,
 * `NAME=text`; `@FILE` alone is the only input, or a JSON file with all inputs, by name or as KServe V2 has them, or
 * the rows of a model of tables. Throws `invalid_argument`.
 */
export async function readInputs(flags: readonly string[], signature: Signature = {}): Promise<Values> {
  const values: Record<string, Value> = Object.create(null);
  for (const flag of flags)
    for (const [name, value] of await readFlag(flag, signature)) {
      if (Object.hasOwn(values, name)) throw invalidArgument(`--input gives "${name}" twice.`);
      values[name] = value;
    }
  return values;
}

async function readFlag(flag: string, signature: Signature): Promise<(readonly [string, Value])[]> {
  const { inputs } = signature;
  const [, name, text] = /^([^=@[{]*)=(.*)$/s.exec(flag) ?? [];
  if (name !== undefined && text !== undefined) return [[name, await readValue(text, name)]];
  const table = isTable(signature) ? await readTable(flag, signature) : undefined;
  if (table !== undefined) return Object.entries(table);
  const value = await readValue(flag, flag);
  if (isRequest(value)) return entriesOf(value);
  const names = (inputs ?? []).filter((spec) => spec.default === undefined).map((spec) => spec.name);
  const [only] = names;
  if (only !== undefined && names.length === 1) return [[only, value]];
  const known = names.length === 0 ? "" : ` The model has ${names.join(", ")}.`;
  throw invalidArgument(`--input is "${flag}", which does not say for which input; expected NAME=${flag}.${known}`);
}

/** A server tells of a model's columns, and not that they are a table's. */
function isTable({ inputs, isTabular }: Signature): boolean {
  if (inputs === undefined) return isTabular === true;
  return inputs.length > 1 && inputs.every(({ shape }) => shape?.length === 1 && shape[0] === -1);
}

/** Columns that a message names. */
const MAX_NAMES = 20;

/** Most memory that the values of a table take, in bytes. */
const MAX_TABLE_BYTES = 1024 ** 3;

/** Rows of a table, from JSON or CSV, as a server reads them; undefined for other values. */
async function readTable(flag: string, signature: Signature): Promise<Values | undefined> {
  const isCsv = /^@.*\.csv$/i.test(flag);
  const value = isCsv ? undefined : byName(await readValue(flag, flag), signature);
  const isList = Array.isArray(value) && (signature.inputs === undefined || value.every(isPlainObject));
  const isRows = isList || (isRequest(value) && !("inputs" in value) && hasAllOf(value, signature));
  if (!isCsv && !isRows) return undefined;
  const request = { [Array.isArray(value) ? "instances" : "inputs"]: value };
  const body = isCsv
    ? toPredictBody(await readBytes(flag.slice(1)), "csv", MAX_TABLE_BYTES).json
    : Buffer.from(JSON.stringify(request));
  const signatures = { [DEFAULT_SIGNATURE]: { ...signature, isTabular: true as const } };
  return decodePredict(body, signatures, MAX_TABLE_BYTES, isCsv).inputs;
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

async function readValue(text: string, place: string): Promise<Value> {
  if (text.startsWith("@")) return readValueFile(text.slice(1));
  return /^[[{"\d.-]|^(true|false)$/.test(text) ? parseJson(text, `--input ${place}`, text) : text;
}

function readBytes(path: string): Promise<Buffer> {
  return readFile(path).catch((cause) => {
    throw invalidArgument(`The input "${path}" ${readProblem(cause)}; expected a file that can be read.`, cause);
  });
}

async function readValueFile(path: string): Promise<Value> {
  const bytes = await readBytes(path);
  if (/\.npy$/i.test(path)) return readNpy(bytes);
  if (/\.json$/i.test(path)) return parseJson(bytes.toString(), `"${path}"`);
  if (/\.csv$/i.test(path)) return csvToJsonRows(bytes.toString()).map((row) => JSON.parse(row));
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
