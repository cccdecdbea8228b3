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

/** Largest tensor that a form makes of a few words. */
const MAX_ELEMENTS = 1 << 24;

/** Reads an input; throws an Error that says what is expected. */
export function parseInput({ name, datatype, shape: shapeText, values: text }: WrittenInput): FormTensor {
  const shape = parseShape(shapeText);
  const written = readValues(text, datatype);
  if (!Array.isArray(written)) {
    const fill = toElement(written, datatype);
    return { name, datatype, shape, values: new Array<Element>(countOf(shape)).fill(fill) };
  }
  const own = shapeOf(written);
  const values = (written.flat(own.length - 1) as unknown[]).map((value) => toElement(value, datatype));
  if (own.length > 1 || shape.length === 0 || shape[0] === 0) return { name, datatype, shape: own, values };
  if (countOf(shape) === values.length) return { name, datatype, shape, values };
  throw new Error(`There are ${values.length} values; the shape [${shape.join(", ")}] has ${countOf(shape)}.`);
}

/** `1, 224, 224, 3`; an empty text is a shape without dimensions. */
function parseShape(text: string): readonly number[] {
  const words = text
    .replace(/[[\]]/g, "")
    .split(/[\s,×x]+/)
    .filter((word) => word !== "");
  const wrong = words.find((word) => !/^\d{1,9}$/.test(word));
  if (wrong !== undefined) throw new Error(`The shape has "${wrong}"; expected whole numbers such as 1, 3.`);
  const shape = words.map(Number);
  if (countOf(shape) > MAX_ELEMENTS)
    throw new Error(`The shape has ${countOf(shape)} elements; the form makes up to ${MAX_ELEMENTS}.`);
  return shape;
}

function readValues(text: string, datatype: string): unknown {
  const isText = datatype === "BYTES";
  if (isText && !/^\s*\[/.test(text)) return text;
  try {
    // Whole numbers that JavaScript would round become texts, and BigInts later.
    return JSON.parse(isText ? text : text.replace(/(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g, '"$&"'));
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

function toElement(value: unknown, datatype: string): Element {
  const what = JSON.stringify(value);
  if (datatype === "BYTES") return typeof value === "string" ? value : what;
  if (datatype === "BOOL") {
    if (value === true || value === 1) return true;
    if (value === false || value === 0) return false;
    throw new Error(`${what} is not BOOL; expected true or false.`);
  }
  if (typeof value !== "number" && !(typeof value === "string" && /^-?\d+$/.test(value)))
    throw new Error(`${what} is not ${datatype}; expected a number.`);
  if (datatype.startsWith("FP") || datatype === "BF16") return Number(value);
  if (!Number.isInteger(Number(value))) throw new Error(`${what} is not ${datatype}; expected a whole number.`);
  return datatype.endsWith("64") ? BigInt(value) : Number(value);
}
