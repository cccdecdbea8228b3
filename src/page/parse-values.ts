import { readExactJson } from "./exact-json.ts";
import { countOf, type Element, type FormTensor } from "./form-tensor.ts";
import { toElement } from "./to-element.ts";

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
export function parseInput({ name, datatype, shape, values }: WrittenInput): FormTensor {
  return toTensor({ name, datatype, shape: parseShape(shape) }, readValues(values, datatype));
}

/** The tensor of what JSON has; an undefined shape is that of its rows. Throws as {@link parseInput} does. */
export function toTensor(
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
