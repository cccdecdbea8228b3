import { type FormTensor, rangeOf } from "./form-tensor.ts";

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
 * The map that an output of the form `[H, W]`, `[1, C, H, W]` or `[1, H, W, C]` is, without the 1 too: heat where there
 * is one value for each place, else the class with the highest one, of which the first is the background.
 */
export function mapOf({ datatype, shape, values }: FormTensor): ColourMap | undefined {
  const place = placeOf(shape);
  if (place === undefined || datatype === "BYTES" || typeof values[0] === "bigint") return undefined;
  const numbers = values as readonly number[];
  return place.classes === 1 ? heat(numbers, place) : classes(numbers, place);
}

interface Place {
  readonly width: number;
  readonly height: number;
  readonly classes: number;
  /** True where the classes are the last size. */
  readonly isLast: boolean;
}

function placeOf(shape: readonly number[]): Place | undefined {
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
function heat(values: readonly number[], { width, height }: Place): ColourMap {
  const [low, high] = rangeOf(values);
  const pixels = new Uint8ClampedArray(width * height * 4);
  for (let at = 0; at < width * height; at++) {
    const part = high > low ? ((values[at] ?? low) - low) / (high - low) : 0;
    pixels.set([255, 220 * (1 - part), 0, 200 * part], at * 4);
  }
  return { width, height, pixels };
}

function classes(values: readonly number[], { width, height, classes, isLast }: Place): ColourMap {
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
