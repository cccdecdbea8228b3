import { type FormTensor, rangeOf } from "./form-tensor.ts";

/** One class of an answer. */
export interface TopClass {
  readonly index: number;
  /** Undefined = the model names none. */
  readonly label: string | undefined;
  readonly score: number;
  /** Length of its bar, from 0 to 1. */
  readonly part: number;
}

/** Rows that are shown, and classes of each. */
const [MAX_ROWS, MAX_CLASSES] = [4, 5];

/**
 * The classes with the highest scores for each row of an output of scores: one of floats with labels, or whose rows are
 * probabilities; undefined for any other output.
 */
export function topClasses(
  output: FormTensor,
  labels?: readonly string[],
): readonly (readonly TopClass[])[] | undefined {
  const { datatype, shape, values } = output;
  const classes = shape.at(-1) ?? 0;
  if (!/^(?:FP|BF)/.test(datatype) || classes < 2 || shape.length > 2) return undefined;
  const count = Math.min(values.length / classes, MAX_ROWS);
  const rows = Array.from({ length: count }, (_, row) => values.slice(row * classes, (row + 1) * classes) as number[]);
  const isNamed = labels !== undefined && labels.length === classes;
  if (rows.length === 0 || !(isNamed || rows.every(isDistribution))) return undefined;
  return rows.map((row) => topOf(row, isNamed ? labels : undefined));
}

function isDistribution(row: readonly number[]): boolean {
  const sum = row.reduce((total, score) => total + score, 0);
  return row.every((score) => score >= 0 && score <= 1) && Math.abs(sum - 1) < 0.01;
}

function topOf(row: readonly number[], labels: readonly string[] | undefined): readonly TopClass[] {
  const [low, high] = rangeOf(row, 0, 1);
  const ranked = (score: number) => (Number.isNaN(score) ? Number.NEGATIVE_INFINITY : score);
  const partOf = (score: number) => Math.max(0, Math.min(1, (ranked(score) - low) / (high - low)));
  const sorted = row.map((score, index) => ({ index, score })).toSorted((a, b) => ranked(b.score) - ranked(a.score));
  return sorted
    .slice(0, MAX_CLASSES)
    .map(({ index, score }) => ({ index, label: labels?.[index], score, part: partOf(score) }));
}

/** An output as an image: encoded, or as pixels. */
export type OutputImage =
  | { readonly type: string; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly width: number; readonly height: number; readonly pixels: Uint8ClampedArray<ArrayBuffer> };

const MAGIC: readonly (readonly [type: string, start: string])[] = [
  ["image/png", "89504e47"],
  ["image/jpeg", "ffd8ff"],
  ["image/gif", "47494638"],
  ["image/webp", "52494646"],
];
/** Sides of pixels: smaller ones are features. */
const [MIN_SIDE, MAX_SIDE] = [16, 4096];

/** The longer side of a picture without channels is at most so many times the other; features are longer. */
const MOST_SLENDER = 3;

/**
 * Checks that rows of numbers are a picture rather than features, which have the same shape: the sides are not far from
 * each other, and no value is below 0.
 */
function isPicture(height: number, width: number, values: readonly number[]): boolean {
  return isBroad(height, width) && rangeOf(values, 0)[0] === 0;
}

/** False for rows of features: pictures are at most three times as long as wide. */
export function isBroad(height: number, width: number): boolean {
  return Math.max(height, width) <= MOST_SLENDER * Math.min(height, width);
}

/**
 * The image that an output is: encoded bytes, or a tensor of the form [1, H, W, 1 or 3 or 4], [1, 1 or 3, H, W] or
 * without the 1; undefined for any other. Of [1, H, W] and [H, W] only those that {@link isPicture}.
 */
export function outputImageOf({ datatype, shape, values }: FormTensor): OutputImage | undefined {
  const [first] = values;
  if (datatype === "BYTES") return first instanceof Uint8Array && values.length === 1 ? encoded(first) : undefined;
  const place = layoutOf(shape);
  if (place === undefined || typeof first !== "number") return undefined;
  const { height, width, channels, isPlanar } = place;
  const numbers = values as readonly number[];
  if (!place.hasChannels && !isPicture(height, width, numbers)) return undefined;
  const scale = toScale(numbers);
  const pixels = new Uint8ClampedArray(width * height * 4);
  for (let pixel = 0; pixel < width * height; pixel++) {
    const at = (channel: number) =>
      numbers[isPlanar ? channel * width * height + pixel : pixel * channels + channel] ?? 0;
    for (let channel = 0; channel < 4; channel++) {
      const isAlpha = channel === 3;
      pixels[pixel * 4 + channel] = isAlpha
        ? channels === 4
          ? scale(at(3))
          : 255
        : scale(at(channels < 3 ? 0 : channel));
    }
  }
  return { width, height, pixels };
}

function encoded(bytes: Uint8Array): OutputImage | undefined {
  const start = Array.from(bytes.subarray(0, 4), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const found = MAGIC.find(([, magic]) => start.startsWith(magic));
  return found && { type: found[0], bytes: new Uint8Array(bytes) };
}

function layoutOf(shape: readonly number[]) {
  const sizes = shape[0] === 1 && shape.length > 2 ? shape.slice(1) : shape;
  const [a = 0, b = 0, c = 0] = sizes;
  if (sizes.length === 2) return checked({ height: a, width: b, channels: 1, isPlanar: true, hasChannels: false });
  if (sizes.length !== 3) return undefined;
  const channels = [1, 3, 4];
  if (channels.includes(c)) return checked({ height: a, width: b, channels: c, isPlanar: false, hasChannels: true });
  if (!channels.includes(a)) return undefined;
  return checked({ height: b, width: c, channels: a, isPlanar: true, hasChannels: true });
}

interface ImagePlace {
  readonly height: number;
  readonly width: number;
  readonly channels: number;
  /** True if the channels come before height and width. */
  readonly isPlanar: boolean;
  /** True if the shape has a size for the channels. */
  readonly hasChannels: boolean;
}

function checked(place: ImagePlace): ImagePlace | undefined {
  const isSide = (size: number) => size >= MIN_SIDE && size <= MAX_SIDE;
  return isSide(place.height) && isSide(place.width) ? place : undefined;
}

/** To 0…255: from 0…1, from -1…1, or from 0…255. */
function toScale(values: readonly number[]): (value: number) => number {
  const [low, high] = rangeOf(values, 0, 0);
  if (low < 0) {
    const size = Math.max(-low, high) || 1;
    return (value) => (value / size + 1) * 127.5;
  }
  return high <= 1 ? (value) => value * 255 : (value) => (high <= 255 ? value : (value / high) * 255);
}
