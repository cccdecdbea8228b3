import { isBroad, topClasses } from "./answer-forms.ts";
import { countOf, elementText, type FormTensor, rangeOf } from "./form-tensor.ts";

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

/** An answer's words on a box, besides its place. */
export interface BoxNote {
  /** Of an output with a score for each box. */
  readonly score?: number;
  /** Texts, classes and numbers, in the order of the outputs. */
  readonly texts: readonly string[];
}

/** An output with the names of its classes. */
export interface NamedOutput {
  readonly output: FormTensor;
  readonly labels?: readonly string[] | undefined;
}

/** The notes of outputs with one row for each of `count` boxes: a text, a number, or the best of some classes. */
export function boxNotes(count: number, outputs: readonly NamedOutput[]): readonly BoxNote[] {
  const tied = outputs.flatMap((named) => rowsFor(count, named) ?? []);
  return Array.from({ length: count }, (_, box) => {
    const notes = tied.map((noteOf) => noteOf(box));
    const score = notes.find((note) => typeof note === "number");
    return { ...(score !== undefined && { score }), texts: notes.filter((note) => typeof note === "string") };
  });
}

/** A score, a text, or nothing. */
type RowNote = (box: number) => number | string | undefined;

/** Names of outputs that are a score, and a class, of each box. */
const [SCORES, CLASSES] = [/score|conf|prob/i, /class|label|categor|kind/i];

function rowsFor(count: number, { output, labels }: NamedOutput): RowNote | undefined {
  const { name, shape, values } = output;
  const rest = shape[0] === count ? shape.slice(1) : shape[0] === 1 && shape[1] === count ? shape.slice(2) : undefined;
  const size = rest === undefined ? 0 : countOf(rest);
  if (size > 1)
    return (box) => bestOf({ ...output, shape: [1, size], values: values.slice(box * size, (box + 1) * size) }, labels);
  if (size === 0) return undefined;
  return (box) => {
    const value = values[box] ?? 0;
    if (output.datatype === "BYTES") return elementText(value);
    const label = labels?.[Number(value)];
    if (label !== undefined) return label;
    if (SCORES.test(name)) return Number(value);
    return CLASSES.test(name) ? `class ${elementText(value)}` : `${name} ${elementText(value)}`;
  };
}

function bestOf(row: FormTensor, labels: readonly string[] | undefined): string | undefined {
  const best = topClasses(row, labels)?.[0]?.[0];
  return best && `${best.label ?? `${row.name} ${best.index}`} ${best.score.toFixed(2)}`;
}

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
 * one value for each place, else the class with the highest one, of which the first is the background. Undefined for
 * features, which have such shapes too: they are slender, below 0 somewhere, or much coarser than `sides`, the image
 * that the model was given.
 */
export function mapOf({ datatype, shape, values }: FormTensor, sides?: Sides): ColourMap | undefined {
  const place = placeOf(shape);
  if (place === undefined || datatype === "BYTES" || typeof values[0] === "bigint") return undefined;
  if (!isBroad(place.height, place.width) || (sides !== undefined && !covers(place, sides))) return undefined;
  const numbers = values as readonly number[];
  if (place.classes > 1) return classMap(numbers, place);
  return place.hasClasses || rangeOf(numbers, 0)[0] === 0 ? heatMap(numbers, place) : undefined;
}

/** Pixels of the image that a place of a map stands for, across and down, at most. */
const MOST_COARSE = 8;
/** A map's proportions are those of the image, within so much of them. */
const MOST_OTHER = 0.25;

function covers({ width, height }: MapPlace, sides: Sides): boolean {
  const proportions = (width * sides.height) / (height * sides.width);
  return width * MOST_COARSE >= sides.width && Math.abs(proportions - 1) <= MOST_OTHER;
}

interface MapPlace {
  readonly width: number;
  readonly height: number;
  readonly classes: number;
  /** True if the classes are the last size. */
  readonly isLast: boolean;
  /** True if the shape has a size for the classes. */
  readonly hasClasses: boolean;
}

function placeOf(shape: readonly number[]): MapPlace | undefined {
  const sizes = shape.length > 2 && shape[0] === 1 ? shape.slice(1) : shape;
  const [a = 0, b = 0, c = 0] = sizes;
  const isSide = (size: number) => size >= MIN_MAP_SIDE && size <= MAX_MAP_SIDE;
  if (sizes.length === 2)
    return isSide(a) && isSide(b) ? { height: a, width: b, classes: 1, isLast: true, hasClasses: false } : undefined;
  if (sizes.length !== 3) return undefined;
  // Of three or four channels it is an image, of which a model gives one as it is.
  const isClasses = (size: number) => size <= MAX_MAP_CLASSES && size !== 3 && size !== 4;
  if (isSide(a) && isSide(b) && isClasses(c) && c <= Math.min(a, b))
    return { height: a, width: b, classes: c, isLast: true, hasClasses: true };
  const planes = { height: b, width: c, classes: a, isLast: false, hasClasses: true };
  return isSide(b) && isSide(c) && isClasses(a) ? planes : undefined;
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
