import { guessExamples, plainElement } from "../tensor/signature/example-inputs.ts";
import {
  type KnownInput,
  knownInputs,
  type Signature,
  type TensorSpec,
  takesImages,
} from "../tensor/signature/signature.ts";
import { elementCount } from "../tensor/tensor.ts";

/** More elements are not read by people. */
const MAX_ELEMENTS = 100;

/**
 * A value for each input that a request needs: an image, or nested lists of ones, true or texts; undefined if an
 * input is not known, has no form in JSON, or would be too long to be read.
 */
export function exampleValues(signature: Signature): Readonly<Record<string, unknown>> | undefined {
  const needed = knownInputs(signature)?.filter((input) => input.default === undefined) ?? [];
  const values = needed.map((input) => [input.name, exampleValue(input)] as const);
  const isComplete = values.length > 0 && values.every(([, value]) => value !== undefined);
  return isComplete ? Object.fromEntries(values) : undefined;
}

/**
 * A row of a model of tables by the names of its columns: its inputs, or the features of its only one; undefined for
 * other models.
 */
export function exampleRow(signature: Signature): Readonly<Record<string, unknown>> | undefined {
  const { isTabular = false, inputs, suggestedInputs = [] } = signature;
  if (!isTabular || inputs !== undefined) return undefined;
  const [only, ...others] = suggestedInputs;
  if (only === undefined) return undefined;
  const { features, shape } = only;
  const isRow = features !== undefined && others.length === 0 && shape?.length === 2 && shape[1] === features.length;
  const columns = isRow ? features.map((name) => ({ ...only, name })) : suggestedInputs;
  if (!isRow && !columns.every((column) => column.shape?.length === 1)) return undefined;
  const cells = columns.map((column) => [column.name, exampleValue({ ...column, shape: [] })] as const);
  return cells.every(([, value]) => value !== undefined) ? Object.fromEntries(cells) : undefined;
}

/** Names that people give to images which their hooks decode. */
const IMAGE_NAMES = /(?:^|[^a-z])(?:image|photo|picture|frame)s?(?![a-z])/i;
/** Names of values that are about images. */
const ABOUT_IMAGES = /(?:^|[^a-z])(?:url|uri|type|name|path|id)s?$/i;

/** Checks if an input takes encoded images: by its shape, or, one of bytes that hooks take, by its name. */
export function isImageInput(input: KnownInput): boolean {
  const { name, dtype } = input;
  if (dtype !== "bytes") return dtype !== undefined && takesImages({ ...input, dtype });
  const words = name.replace(/([a-z])(?=[A-Z])/g, "$1_");
  return input.categories === undefined && IMAGE_NAMES.test(words) && !ABOUT_IMAGES.test(words);
}

/** An input of any rank gets a list. */
function exampleValue(input: KnownInput): unknown {
  const { dtype, shape } = input;
  if (dtype === undefined && shape === undefined) return undefined;
  if (dtype !== undefined && takesImages({ ...input, dtype })) return [{ b64: exampleImage(input) }];
  if (dtype?.startsWith("complex")) return undefined;
  const [example] = guessExamples([{ ...input, dtype: dtype ?? "float32", shape: shape ?? [1] }]);
  if (example === undefined || elementCount(example.shape) > MAX_ELEMENTS) return undefined;
  const element = isImageInput(input) ? { b64: exampleImage(input) } : plainElement(example);
  return example.shape.reduceRight<unknown>((inner, size) => new Array(size).fill(inner), element);
}

/** PNGs of one pixel, with one channel and with three. */
const GREY = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==";
const COLOUR = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNoaGgAAAMEAYFL09IQAAAAAElFTkSuQmCC";

/** A PNG of one pixel in base64, for an input of images; channels come last, or before height and width. */
export function exampleImage({ shape: [, second, , last] = [] }: Pick<TensorSpec, "shape">): string {
  return last === 1 || (second === 1 && last !== 3) ? GREY : COLOUR;
}
