import type { FormTensor } from "./form-tensor.ts";

/** A box on an image: its sides as parts of the image's, from 0 to 1. */
export interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  /** Absent where the output has none. */
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

/** The form that fits all rows: corners where the second is never before the first. */
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

type Place = readonly [left: number, top: number, width: number, height: number];

const CORNERS: Readonly<Record<BoxForm, (row: readonly number[]) => Place>> = {
  "x1 y1 x2 y2": ([a = 0, b = 0, c = 0, d = 0]) => [a, b, c - a, d - b],
  "y1 x1 y2 x2": ([a = 0, b = 0, c = 0, d = 0]) => [b, a, d - b, c - a],
  "x y width height": ([a = 0, b = 0, c = 0, d = 0]) => [a, b, c, d],
  "centre, width height": ([a = 0, b = 0, c = 0, d = 0]) => [a - c / 2, b - d / 2, c, d],
};
