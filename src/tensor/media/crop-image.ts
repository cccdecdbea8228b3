import { invalidArgument, type ServingError } from "../../errors.ts";
import { createTensor, type Tensor } from "../tensor.ts";
import { countImage } from "./count-image.ts";
import {
  checkPixels,
  DEFAULT_MAX_PIXELS,
  type ImageTensor,
  imageShape,
  openImage,
  readImage,
  type Size,
  targetSize,
} from "./image-tensor.ts";
import { type Corners, type Point, projectionBetween, warp } from "./projection.ts";
import { type ResizeOptions, resize } from "./resize-image.ts";

/** A part of an image, in pixels from its left upper corner; fractions are rounded. */
export interface CropBox extends Size {
  readonly left: number;
  readonly top: number;
}

/**
 * Cuts a box out of an image, and optionally resizes it. The part beyond the image's edges is dropped.
 * Throws `invalid_argument` for a box that misses the image altogether.
 */
export async function cropImage(image: Tensor, box: CropBox, options: ResizeOptions = {}): Promise<ImageTensor> {
  const shape = imageShape(image);
  const region = clamp(box, shape);
  const size = targetSize(region, options);
  const pipeline = resize((await openImage(image)).extract(region), size, options);
  return countImage(await readImage(pipeline, options.channels ?? shape.channels));
}

function clamp({ left, top, width, height }: CropBox, image: Size): CropBox {
  const x = clampSpan(left, left + width, image.width);
  const y = clampSpan(top, top + height, image.height);
  if (x.length >= 1 && y.length >= 1) return { left: x.start, top: y.start, width: x.length, height: y.length };
  throw invalidArgument(
    `Box left ${left}, top ${top}, width ${width}, height ${height} has no pixel of the ${image.width} x ${image.height} image.`,
  );
}

function clampSpan(start: number, end: number, limit: number): { start: number; length: number } {
  const from = Math.max(0, Math.round(start));
  const to = Math.min(limit, Math.round(end));
  return { start: from, length: to - from };
}

/** The size of what {@link cropQuad} gives. */
export interface CropQuadOptions {
  /** In pixels; default: the longer one of the two opposite sides, rounded. */
  readonly width?: number;
  readonly height?: number;
}

/**
 * Cuts a quadrilateral out of an image and makes it an upright rectangle: a rotated text line, a plate, a page seen
 * from the side. `corners` are four points in pixels, clockwise from the one that becomes the left upper corner.
 * Bilinear; beyond the image its edge is repeated. Throws `invalid_argument` for tensors that are not images, for
 * corners other than four finite points or on one line, and for an impossible size.
 */
export function cropQuad(image: Tensor, corners: readonly Point[], options: CropQuadOptions = {}): ImageTensor {
  const shape = imageShape(image);
  const quad = checkCorners(corners);
  const width = sideOf("width", options.width ?? Math.max(distance(quad[0], quad[1]), distance(quad[3], quad[2])));
  const height = sideOf("height", options.height ?? Math.max(distance(quad[0], quad[3]), distance(quad[1], quad[2])));
  checkPixels("The cropped image", { width, height }, DEFAULT_MAX_PIXELS);
  const upright: Corners = [
    { x: 0, y: 0 },
    { x: width, y: 0 },
    { x: width, y: height },
    { x: 0, y: height },
  ];
  const projection = projectionBetween(upright, quad);
  if (projection === undefined) throw invalid("its corners lie on one line");
  const pixels = warp({ ...shape, data: image.data as Uint8Array }, projection, width, height);
  return countImage(createTensor("uint8", [height, width, shape.channels], pixels));
}

function checkCorners(corners: readonly Point[]): Corners {
  const isPoint = (point: Point | undefined) => Number.isFinite(point?.x) && Number.isFinite(point?.y);
  if (!Array.isArray(corners) || corners.length !== 4 || !corners.every(isPoint)) {
    throw invalid("its corners are not four points { x, y } of finite numbers");
  }
  const quad = corners as unknown as Corners;
  if (Math.abs(areaOf(quad)) < 1e-6) throw invalid("its corners lie on one line");
  return quad;
}

/** Twice the signed area. */
function areaOf(corners: Corners): number {
  return corners.reduce((sum, { x, y }, index) => {
    const next = corners[(index + 1) % 4]!;
    return sum + x * next.y - next.x * y;
  }, 0);
}

function distance(one: Point, other: Point): number {
  return Math.hypot(one.x - other.x, one.y - other.y);
}

function sideOf(name: string, side: number): number {
  const rounded = Math.max(1, Math.round(side));
  if (Number.isSafeInteger(rounded) && side > 0) return rounded;
  throw invalid(`its ${name} is ${side}; expected a positive number`);
}

function invalid(problem: string): ServingError {
  return invalidArgument(`cropQuad cannot cut the quadrilateral: ${problem}.`);
}
