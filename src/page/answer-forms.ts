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

/**
 * The image that an output is: encoded bytes, or a tensor of the form [1, H, W, 1 or 3 or 4], [1, 1 or 3, H, W] or
 * without the 1; undefined for any other.
 */
export function outputImageOf({ datatype, shape, values }: FormTensor): OutputImage | undefined {
  const [first] = values;
  if (datatype === "BYTES") return first instanceof Uint8Array && values.length === 1 ? encoded(first) : undefined;
  const place = layoutOf(shape);
  if (place === undefined || typeof first !== "number") return undefined;
  const { height, width, channels, isPlanar } = place;
  const numbers = values as readonly number[];
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
  if (sizes.length === 2) return checked(sizes[0], sizes[1], 1, true);
  if (sizes.length !== 3) return undefined;
  const [a = 0, b = 0, c = 0] = sizes;
  if (c === 1 || c === 3 || c === 4) return checked(a, b, c, false);
  return a === 1 || a === 3 || a === 4 ? checked(b, c, a, true) : undefined;
}

function checked(height = 0, width = 0, channels: number, isPlanar: boolean) {
  const isSide = (size: number) => size >= MIN_SIDE && size <= MAX_SIDE;
  return isSide(height) && isSide(width) ? { height, width, channels, isPlanar } : undefined;
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

/** A box on an image: its sides as parts of the image's, from 0 to 1. */
export interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  /** Absent if the output has none. */
  readonly score?: number | undefined;
  readonly kind?: number | undefined;
}

/** Orders in which models give the four numbers of a box. */
export const BOX_FORMS = ["x1 y1 x2 y2", "y1 x1 y2 x2", "x y width height", "centre, width height"] as const;
/** One of {@link BOX_FORMS}. */
export type BoxForm = (typeof BOX_FORMS)[number];

/** The image that boxes in pixels are measured on. */
export interface Sides {
  readonly width: number;
  readonly height: number;
}

/** Boxes of an output, at most. */
const MAX_BOXES = 1000;

/**
 * Rows of the form `[n, 4|5|6]`: four sides, a score, a class; or `[n, 7]` of SSD:
 * image, class, score, four sides. The leading sizes are 1.
 */
export function boxRowsOf({ datatype, shape, values }: FormTensor): readonly (readonly number[])[] | undefined {
  const columns = shape.at(-1) ?? 0;
  const rows = shape.at(-2) ?? 0;
  const isForm = shape.length >= 2 && shape.slice(0, -2).every((size) => size === 1) && columns >= 4 && columns <= 7;
  if (!isForm || !/^FP/.test(datatype) || rows > MAX_BOXES || (columns === 7 && shape.length !== 4)) return undefined;
  const numbers = values as readonly number[];
  const all = Array.from({ length: rows }, (_, row) => numbers.slice(row * columns, (row + 1) * columns));
  return all.map((row) => (columns === 7 ? [...row.slice(3), row[2] ?? 0, row[1] ?? 0] : row));
}

/** The form that fits all rows: corners if the second is never before the first. */
export function guessForm(rows: readonly (readonly number[])[]): BoxForm {
  const areCorners = rows.every(([a = 0, b = 0, c = 0, d = 0]) => c >= a && d >= b);
  return areCorners ? "x1 y1 x2 y2" : "centre, width height";
}

/** The boxes of rows; sides above 2 are pixels of an image of `sides`. */
export function toBoxes(rows: readonly (readonly number[])[], form: BoxForm, sides: Sides): readonly Box[] {
  const isInPixels = rows.some((row) => row.slice(0, 4).some((side) => Math.abs(side) > 2));
  const [across, down] = isInPixels ? [1 / sides.width, 1 / sides.height] : [1, 1];
  return rows.map((row) => {
    const [left, top, width, height] = CORNERS[form](row);
    const [, , , , score, kind] = row;
    return { left: left * across, top: top * down, width: width * across, height: height * down, score, kind };
  });
}

type Corners = readonly [left: number, top: number, width: number, height: number];

const CORNERS: Readonly<Record<BoxForm, (row: readonly number[]) => Corners>> = {
  "x1 y1 x2 y2": ([a = 0, b = 0, c = 0, d = 0]) => [a, b, c - a, d - b],
  "y1 x1 y2 x2": ([a = 0, b = 0, c = 0, d = 0]) => [b, a, d - b, c - a],
  "x y width height": ([a = 0, b = 0, c = 0, d = 0]) => [a, b, c, d],
  "centre, width height": ([a = 0, b = 0, c = 0, d = 0]) => [a - c / 2, b - d / 2, c, d],
};

/** A map over an image as colours, transparent where there is nothing. */
export interface ColourMap {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8ClampedArray<ArrayBuffer>;
}

/** Sides of maps; smaller ones are features. */
const [MIN_MAP_SIDE, MAX_MAP_SIDE] = [8, 4096];
/** Classes of a map, at most. */
const MAX_MAP_CLASSES = 256;

/**
 * The map that an output of the form `[H, W]`, `[1, C, H, W]` or `[1, H, W, C]` is, without the 1 too: heat if there is
 * one value for each place, else the class with the highest one, of which the first is the background.
 */
export function mapOf({ datatype, shape, values }: FormTensor): ColourMap | undefined {
  const place = placeOf(shape);
  if (place === undefined || datatype === "BYTES" || typeof values[0] === "bigint") return undefined;
  const numbers = values as readonly number[];
  return place.classes === 1 ? heatMap(numbers, place) : classMap(numbers, place);
}

interface MapPlace {
  readonly width: number;
  readonly height: number;
  readonly classes: number;
  /** True if the classes are the last size. */
  readonly isLast: boolean;
}

function placeOf(shape: readonly number[]): MapPlace | undefined {
  const sizes = shape.length > 2 && shape[0] === 1 ? shape.slice(1) : shape;
  const [a = 0, b = 0, c = 0] = sizes;
  const isSide = (size: number) => size >= MIN_MAP_SIDE && size <= MAX_MAP_SIDE;
  if (sizes.length === 2) return isSide(a) && isSide(b) ? { height: a, width: b, classes: 1, isLast: true } : undefined;
  if (sizes.length !== 3) return undefined;
  // Of three or four channels it is an image, of which a model gives one as it is.
  const isClasses = (size: number) => size <= MAX_MAP_CLASSES && size !== 3 && size !== 4;
  if (isSide(a) && isSide(b) && isClasses(c) && c <= Math.min(a, b))
    return { height: a, width: b, classes: c, isLast: true };
  return isSide(b) && isSide(c) && isClasses(a) ? { height: b, width: c, classes: a, isLast: false } : undefined;
}

/** From nothing at the lowest value to red at the highest. */
function heatMap(values: readonly number[], { width, height }: MapPlace): ColourMap {
  const [low, high] = rangeOf(values);
  const pixels = new Uint8ClampedArray(width * height * 4);
  for (let at = 0; at < width * height; at++) {
    const part = high > low ? ((values[at] ?? low) - low) / (high - low) : 0;
    pixels.set([255, 220 * (1 - part), 0, 200 * part], at * 4);
  }
  return { width, height, pixels };
}

function classMap(values: readonly number[], { width, height, classes, isLast }: MapPlace): ColourMap {
  const count = width * height;
  const pixels = new Uint8ClampedArray(count * 4);
  for (let at = 0; at < count; at++) {
    const scoreOf = (kind: number) => values[isLast ? at * classes + kind : kind * count + at] ?? 0;
    let best = 0;
    for (let kind = 1; kind < classes; kind++) if (scoreOf(kind) > scoreOf(best)) best = kind;
    if (best > 0) pixels.set([...colourOf(best), 150], at * 4);
  }
  return { width, height, pixels };
}

/** Colours of classes, which are far from each other. */
function colourOf(kind: number): readonly [number, number, number] {
  const channel = (shift: number) => Math.round(127 + 127 * Math.sin(kind * 2.4 + shift));
  return [channel(0), channel(2), channel(4)];
}
