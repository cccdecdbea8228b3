import { invalidArgument } from "../../errors.ts";
import type { DecodeBudget } from "../../limits/memory/decode-budget.ts";
import { BytesBuilder } from "../../tensor/byte-ranges.ts";
import { type DType, integerRange, type NumericDType, numericLayout } from "../../tensor/dtype.ts";
import { createTensor, type Tensor } from "../../tensor/tensor.ts";

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
export function countElements(texts: readonly string[]): number {
  let count = texts.length;
  for (const text of texts) {
    for (let comma = text.indexOf(","); comma !== -1; comma = text.indexOf(",", comma + 1)) count++;
  }
  return count;
}

/** The elements of texts, split at commas; sequentially, as a list of them would take many times their bytes. */
export function* elementsOf(texts: readonly string[]): Generator<string> {
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
