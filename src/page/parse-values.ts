import { datatypeNamed } from "../protocols/kserve/datatype.ts";
import { type IntegerRange, integerRange } from "../tensor/dtype.ts";
import { overflowOf } from "../tensor/float16.ts";
import { isObject } from "../tensor/record.ts";
import { countOf, type Element, type FormTensor } from "./form-tensor.ts";

/** One input as a person has written it. */
export interface WrittenInput {
  readonly name: string;
  readonly datatype: string;
  /** `2, 3`. */
  readonly shape: string;
  /** A JSON array, nested or flat, or one value for all elements; for BYTES any text, too. */
  readonly values: string;
}

/** Largest tensor that a form makes of a few words, and the longest shape that it reads. */
const [MAX_ELEMENTS, MAX_SHAPE_CHARACTERS] = [1 << 24, 1000];

/** Reads an input; throws an Error that names the expected form. */
export function parseInput({ name, datatype, shape, values }: WrittenInput): FormTensor {
  return toTensor({ name, datatype, shape: parseShape(shape) }, readValues(values, datatype));
}

/** The tensor of what JSON has; an undefined shape is that of its rows. Throws as {@link parseInput} does. */
function toTensor(
  {
    name,
    datatype,
    shape,
  }: Pick<FormTensor, "name" | "datatype"> & { readonly shape: FormTensor["shape"] | undefined },
  written: unknown,
): FormTensor {
  if (!Array.isArray(written)) {
    const fill = toElement(written, datatype);
    return { name, datatype, shape: shape ?? [], values: new Array<Element>(countOf(shape ?? [])).fill(fill) };
  }
  const own = shapeOf(written);
  const values = (written.flat(own.length - 1) as unknown[]).map((value) => toElement(value, datatype));
  if (own.length > 1 || shape === undefined || shape.length === 0) return { name, datatype, shape: own, values };
  if (countOf(shape) === values.length) return { name, datatype, shape, values };
  throw new Error(`There are ${values.length} values; the shape [${shape.join(", ")}] has ${countOf(shape)}.`);
}

/** Brackets around a shape, of JSON or of Python, and the comma that Python has behind a single size. */
const AROUND_SHAPE = /^\s*[[(]?\s*|\s*,?\s*[\])]?\s*$/g;

/** `1, 224, 224, 3`; an empty text is a shape without dimensions. */
function parseShape(text: string): readonly number[] {
  const sizes = text.length <= MAX_SHAPE_CHARACTERS ? text.replace(AROUND_SHAPE, "") : "…";
  const words = sizes === "" ? [] : sizes.split(/\s*[,×x]\s*|\s+/);
  if (!words.every((word) => /^\d{1,9}$/.test(word)))
    throw new Error(`"${text}" is no shape; expected whole numbers with commas between them, such as 1, 3.`);
  const shape = words.map(Number);
  if (countOf(shape) > MAX_ELEMENTS)
    throw new Error(`The shape has ${countOf(shape)} elements; the form makes up to ${MAX_ELEMENTS}.`);
  return shape;
}

/**
 * The shape that written values have for a model which takes such a shape: that of their rows; of a flat list the one
 * that fills the open size of `declared`, the last of several. Undefined if they are no list.
 */
export function shapeOfValues(
  { values, datatype }: Pick<WrittenInput, "values" | "datatype">,
  declared: readonly number[] = [-1],
): readonly number[] | undefined {
  try {
    const written = readValues(values, datatype);
    if (!Array.isArray(written)) return undefined;
    const own = shapeOf(written);
    return own.length > 1 ? own : spread(written.length, declared);
  } catch {
    return undefined;
  }
}

function spread(count: number, declared: readonly number[]): readonly number[] {
  const open = declared.lastIndexOf(-1);
  const rest = count / countOf(declared.filter((size) => size >= 0));
  if (!Number.isInteger(rest) || (open < 0 && rest !== 1)) return [count];
  return declared.map((size, axis) => (axis === open ? rest : Math.abs(size)));
}

/** One value as a person has written it: a number, true or false, or any text. Throws as {@link parseInput} does. */
export function parseElement(text: string, datatype: string): Element {
  return toElement(datatype === "BYTES" ? text : readScalar(text.trim()), datatype);
}

/** Tables have numbers that JSON has not, such as `.5` and `+1`, and Python's `True`. */
function readScalar(text: string): unknown {
  try {
    return readExactJson(/^(?:true|false)$/i.test(text) ? text.toLowerCase() : text);
  } catch {
    return /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i.test(text) ? Number(text) : text;
  }
}

function readValues(text: string, datatype: string): unknown {
  const isText = datatype === "BYTES";
  if (isText && !/^\s*\[/.test(text)) return text;
  try {
    return readExactJson(text);
  } catch {
    if (isText) return text;
    throw new Error("The values are not JSON; expected [1, 2], [[1, 2], [3, 4]], or one number for all elements.");
  }
}

/** Throws for rows of different lengths, with the place. */
function shapeOf(value: unknown, place = ""): readonly number[] {
  if (!Array.isArray(value)) return [];
  const inner = value.map((row, index) => shapeOf(row, `${place}[${index}]`));
  const [first = []] = inner;
  const odd = inner.findIndex((shape) => shape.join() !== first.join());
  if (odd >= 0) {
    const text = (shape: readonly number[]) => (shape.length === 0 ? "one value" : `[${shape.join(", ")}]`);
    throw new Error(`The rows differ: ${place}[${odd}] is ${text(inner[odd] ?? [])}, ${place}[0] is ${text(first)}.`);
  }
  return [value.length, ...first];
}

/** Strings, which are left as they are, and whole numbers that JavaScript may round. */
const LONG = /"[^"\\]*(?:\\.[^"\\]*)*(?:"|$)|(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;
/** Before a long number that has become a string; no text begins with it. */
const MARK = "\uE000";
const MARKED = new RegExp(`^${MARK}(-?\\d+)$`);

/** Reads JSON; whole numbers of 16 digits and more are BigInts. */
function readExactJson(text: string): unknown {
  const marked = text.replace(LONG, (found) => (found.startsWith('"') ? found : `"${MARK}${found}"`));
  return JSON.parse(marked, (_, value) => {
    const [, digits] = (typeof value === "string" && MARKED.exec(value)) || [];
    return digits === undefined ? value : BigInt(digits);
  });
}

/** A value of JSON as an element; throws an Error for one that the datatype does not hold. */
function toElement(value: unknown, datatype: string): Element {
  if (datatype === "BYTES") return typeof value === "string" ? value : textOf(value);
  if (datatype === "BOOL") return toBoolean(value);
  if (typeof value !== "number" && typeof value !== "bigint")
    throw new Error(`${textOf(value)} is not ${datatype}; expected a number.`);
  const dtype = datatypeNamed(datatype)?.dtype ?? "float64";
  const range = integerRange(dtype);
  if (range !== undefined) return toWhole(value, datatype, range);
  if (Math.abs(Number(value)) < overflowOf(dtype)) return Number(value);
  throw new Error(`${value} is beyond the numbers of ${datatype}.`);
}

function toBoolean(value: unknown): boolean {
  if (value === true || value === 1) return true;
  if (value === false || value === 0) return false;
  throw new Error(`${textOf(value)} is not BOOL; expected true or false.`);
}

function toWhole(value: number | bigint, datatype: string, [first, end]: IntegerRange): Element {
  if (typeof value === "number" && !Number.isInteger(value))
    throw new Error(`${value} is not ${datatype}; expected a whole number.`);
  if (value < first || value >= end)
    throw new Error(
      `${value} is beyond the numbers of ${datatype}, which are ${BigInt(first)} to ${BigInt(end) - 1n}.`,
    );
  return datatype.endsWith("64") ? BigInt(value) : Number(value);
}

/** JSON writes no BigInts. */
function textOf(value: unknown): string {
  if (typeof value === "bigint") return String(value);
  return JSON.stringify(value, (_, one) => (typeof one === "bigint" ? Number(one) : one));
}

/** Inputs of any names, from a JSON object of values: `{"x": [1, 2]}`. Throws an Error that names the expected form. */
export function parseFreeInputs(text: string): readonly FormTensor[] {
  let given: unknown;
  try {
    given = readExactJson(text);
  } catch {
    throw new Error('This is no JSON; expected an object of inputs such as {"x": [1, 2]}.');
  }
  if (!isObject(given)) throw new Error('Expected an object of inputs such as {"x": [1, 2]}.');
  return Object.entries(given).map(([name, value]) =>
    toTensor({ name, datatype: datatypeOf(value), shape: undefined }, value),
  );
}

function datatypeOf(value: unknown): string {
  const all = Array.isArray(value) ? value.flat(16) : [value];
  if (all.every((one) => typeof one === "bigint" || Number.isInteger(one)))
    return isIn(all, "int64") ? "INT64" : isIn(all, "uint64") ? "UINT64" : "FP64";
  if (all.every((one) => typeof one === "number" || typeof one === "bigint")) return "FP64";
  return all.every((one) => typeof one === "boolean") ? "BOOL" : "BYTES";
}

function isIn(values: readonly (number | bigint)[], dtype: "int64" | "uint64"): boolean {
  const [first, end] = integerRange(dtype) ?? [0, 0];
  return values.every((value) => value >= first && value < end);
}
