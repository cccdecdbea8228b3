import { type FormTensor, rangeOf } from "./form-tensor.ts";

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
const [MIN_SIDE, MAX_SIDE] = [8, 4096];
/** Classes of a map, at most. */
const MAX_CLASSES = 256;

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
  const isSide = (size: number) => size >= MIN_SIDE && size <= MAX_SIDE;
  if (sizes.length === 2) return isSide(a) && isSide(b) ? { height: a, width: b, classes: 1, isLast: true } : undefined;
  if (sizes.length !== 3) return undefined;
  // Of three or four channels it is an image, of which a model gives one as it is.
  const isClasses = (size: number) => size <= MAX_CLASSES && size !== 3 && size !== 4;
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
