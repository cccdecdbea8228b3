import { invalidArgument } from "../../errors.ts";
import { defineJob } from "../../platform/codec-host/job.ts";
import { DecodeBudget } from "../../platform/limits/memory/decode-budget.ts";
import { BytesBuilder } from "../../tensor/byte-ranges.ts";
import { type DType, integerRange, type NumericDType, numericLayout } from "../../tensor/dtype.ts";
import { createTensor, createTensors, type Tensor } from "../../tensor/tensor.ts";
import { splitForm } from "../split-form.ts";
import { dtypeOfName } from "./dtype-names.ts";
import type { KibernetikaRequest } from "./http-codec.ts";

/** Types that may precede the first underscore of a field's name, for files and for texts. */
export const FORM_TYPES = [
  "float",
  "double",
  "int",
  "int8",
  "int16",
  "int32",
  "int64",
  "uint8",
  "uint16",
  "uint32",
  "uint64",
  "bool",
  "string",
  "strings",
  "byte",
  "bytes",
] as const;
/** One of {@link FORM_TYPES}. */
type FormType = (typeof FORM_TYPES)[number];

/** The type that `curl -d` sends, with JSON as well as with fields. */
export const ENCODED_FORM = "application/x-www-form-urlencoded";

/** Checks if a body is a form: an encoded one begins with the letter of a field's name, and no JSON object does. */
export function isForm(mediaType: string, body: Uint8Array): boolean {
  if (mediaType !== ENCODED_FORM) return mediaType === "multipart/form-data";
  return /^[A-Za-z]/.test(String.fromCharCode(body[0] ?? 0));
}

/**
 * Parses a form whose fields are called TYPE_NAME, with `out_filter` or `out_filters` and `out_mime_type` in addition.
 * A file whose field names no type is one of type `bytes`: most forms call the field as the input. Throws
 * `invalid_argument` for a file whose field has no name. `contentType` is the header, which has the boundary;
 * `maxBytes` bounds the memory of the result.
 */
export async function parseKibernetikaForm(
  body: Uint8Array,
  contentType: string,
  maxBytes: number,
): Promise<KibernetikaRequest> {
  const budget = new DecodeBudget(maxBytes);
  const { texts, files } = await splitForm(body, contentType);
  const inputs = new Map<string, Tensor>();
  const add = (field: string, name: string, tensor: Tensor) => {
    if (inputs.has(name)) throw invalidArgument(`Field "${field}" is a second value for input "${name}".`);
    inputs.set(name, tensor);
  };
  for (const [field, values] of texts) {
    const target = targetOf(field);
    if (target !== undefined) add(field, target.name, textsToTensor(values, { field, ...target }, budget));
  }
  let isPlain = false;
  for (const [field, values] of files) {
    const typed = targetOf(field);
    isPlain ||= typed === undefined;
    const target = typed ?? fileCalled(field);
    add(field, target.name, filesToTensor(values, { field, ...target }, budget));
  }
  const filter = [...(texts.get("out_filter") ?? []), ...(texts.get("out_filters") ?? [])];
  budget.countOutputs(countElements(filter));
  const outFilter = [...elementsOf(filter)].filter((name) => name !== "");
  const outMimeType = texts.get("out_mime_type")?.[0] ?? "";
  return { inputs: createTensors(inputs), outFilter, outMimeType, isPlain };
}

/** {@link parseKibernetikaForm} for a codec thread. */
export const parseKibernetikaFormJob = defineJob(import.meta.url, "parseKibernetikaFormJob", parseKibernetikaForm);

interface Target {
  readonly type: FormType;
  readonly dtype: DType;
  readonly name: string;
}

/** The meaning of TYPE_NAME; undefined for a field of another kind, such as `raw_input`. */
function targetOf(field: string): Target | undefined {
  const [prefix] = field.split("_", 1);
  const type = FORM_TYPES.find((known) => known === prefix);
  const dtype = type && dtypeOfName(type);
  const name = field.slice(`${type}_`.length);
  return type === undefined || dtype === undefined || name === "" ? undefined : { type, dtype, name };
}

/** The field in which a file is the bytes of an input: its name, unless that means a type or something else. */
export function fileField(input: string): string {
  return targetOf(input) !== undefined || OTHER_FIELDS.has(input) ? `bytes_${input}` : input;
}

/** Fields that are no inputs: texts, or one of the original's that means nothing here. */
const OTHER_FIELDS: ReadonlySet<string> = new Set(["out_filter", "out_filters", "out_mime_type", "raw_input"]);

function fileCalled(field: string): Target {
  if (field !== "" && !OTHER_FIELDS.has(field) && !FORM_TYPES.some((type) => field === `${type}_`))
    return { type: "bytes", dtype: "bytes", name: field };
  throw invalidArgument(
    `File field "${field}" does not name an input; expected its name, or TYPE_NAME, where TYPE is one of ${FORM_TYPES.join(", ")}.`,
  );
}

/** A form field for an input. */
export interface FormField {
  /** Its full name, for errors. */
  readonly field: string;
  /** The type, before the input's name. */
  readonly type: string;
  readonly dtype: DType;
}

/** For these types a text or a file is one element; for the others, texts are split at commas. */
const WHOLE_TEXTS: ReadonlySet<string> = new Set(["string", "byte", "bytes"]);
/** For these types a file is one element without dimensions. */
const SCALAR_FILES: ReadonlySet<string> = new Set(["string", "byte"]);

/** Maximum memory of an element, a number or a packed text, in a growing block. */
const ELEMENT_BYTES = 16;

/** The texts of a field, one for each time it was sent, as a tensor of rank 1. */
export function textsToTensor(texts: readonly string[], field: FormField, budget: DecodeBudget): Tensor {
  const isWhole = WHOLE_TEXTS.has(field.type);
  const count = isWhole ? texts.length : countElements(texts);
  budget.spend(count * ELEMENT_BYTES, () => `field "${field.field}"`);
  if (field.dtype === "bytes") return toBytesTensor(isWhole ? texts : elementsOf(texts), count);
  const data = new (numericLayout(field.dtype).array)(count);
  let index = 0;
  for (const element of elementsOf(texts)) data[index++] = parseElement(element.trim(), field) as never;
  return createTensor(field.dtype, [count], data as never);
}

function toBytesTensor(elements: Iterable<string>, count: number): Tensor {
  const builder = new BytesBuilder();
  for (const element of elements) builder.append(element);
  return builder.finish([count]);
}

/** Number of the elements of texts, split at commas. */
function countElements(texts: readonly string[]): number {
  let count = texts.length;
  for (const text of texts) {
    for (let comma = text.indexOf(","); comma !== -1; comma = text.indexOf(",", comma + 1)) count++;
  }
  return count;
}

/** The elements of texts, split at commas; sequentially, as a list of them would take many times their bytes. */
function* elementsOf(texts: readonly string[]): Generator<string> {
  for (const text of texts) {
    let start = 0;
    for (let comma = text.indexOf(","); comma !== -1; comma = text.indexOf(",", start)) {
      yield text.slice(start, comma);
      start = comma + 1;
    }
    yield text.slice(start);
  }
}

/** The files of a field as a tensor; for numeric types each byte is an element. */
export function filesToTensor(files: readonly Buffer[], field: FormField, budget: DecodeBudget): Tensor {
  const [file, ...more] = files;
  if (field.dtype === "bytes" && !SCALAR_FILES.has(field.type)) return createTensor("bytes", [files.length], files);
  if (file === undefined || more.length > 0) {
    throw invalidArgument(
      `Field "${field.field}" was sent with ${files.length} files; only bytes_ and strings_ take several.`,
    );
  }
  if (field.dtype === "bytes") return createTensor("bytes", [], [file]);
  const { array, bytes } = numericLayout(field.dtype as NumericDType);
  budget.spend(file.length * bytes, () => `field "${field.field}"`);
  const data = new array(file.length);
  const toElement = BYTE_CONVERSIONS[field.dtype] ?? Number;
  for (let index = 0; index < file.length; index++) data[index] = toElement(file[index] as number) as never;
  return createTensor(field.dtype, [data.length], data as never);
}

const BYTE_CONVERSIONS: Partial<Record<DType, (byte: number) => number | bigint>> = {
  bool: (byte) => Number(byte !== 0),
  int64: BigInt,
  uint64: BigInt,
};

const BOOLEANS: ReadonlyMap<string, number> = new Map([
  ["true", 1],
  ["t", 1],
  ["1", 1],
  ["false", 0],
  ["f", 0],
  ["0", 0],
]);
const INFINITY = /^([+-]?)inf(?:inity)?$/i;
const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;
const INTEGER = /^[+-]?\d{1,20}$/;
/** Integers with at most this many characters are exact as numbers. */
const MAX_SAFE_LENGTH = 15;

function parseElement(text: string, { field, dtype }: FormField): number | bigint {
  const value = dtype === "bool" ? BOOLEANS.get(text.toLowerCase()) : parseNumber(text, dtype);
  if (value !== undefined) return value;
  throw invalidArgument(`Field "${field}" has the value "${text.slice(0, 100)}"; expected ${dtype}.`);
}

function parseNumber(text: string, dtype: DType): number | bigint | undefined {
  if (dtype === "float32" || dtype === "float64") return parseFloating(text);
  if (!INTEGER.test(text)) return undefined;
  const { bytes } = numericLayout(dtype as NumericDType);
  const range = text.length <= MAX_SAFE_LENGTH && bytes < 8 ? integerRange(dtype) : undefined;
  if (range !== undefined) return Number(text) >= range[0] && Number(text) < range[1] ? Number(text) : undefined;
  const integer = BigInt(text.replace(/^\+/, ""));
  const wrapped = dtype.startsWith("u") ? BigInt.asUintN(8 * bytes, integer) : BigInt.asIntN(8 * bytes, integer);
  if (wrapped !== integer) return undefined;
  return bytes === 8 ? integer : Number(integer);
}

function parseFloating(text: string): number | undefined {
  if (/^[+-]?nan$/i.test(text)) return Number.NaN;
  const infinity = INFINITY.exec(text);
  if (infinity !== null) return infinity[1] === "-" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  return DECIMAL.test(text) ? Number(text) : undefined;
}
