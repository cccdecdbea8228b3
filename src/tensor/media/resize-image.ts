import type { Sharp } from "sharp";
import { invalidArgument, type ServingError } from "../../errors.ts";
import { createTensor, type Tensor } from "../tensor.ts";
import { countImage } from "./count-image.ts";
import {
  type Channels,
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

/** Size, channels and kernel of the new image. */
export interface ResizeOptions {
  /** With `height`: stretched to exactly this size. Alone: the aspect ratio is kept. Neither: size unchanged. */
  readonly width?: number;
  readonly height?: number;
  /** Kernel that computes new pixels. Default `lanczos3`; `linear` is what most models were trained with. */
  readonly kernel?: "nearest" | "linear" | "cubic" | "lanczos3";
  /**
   * Treatment of another aspect ratio if both sides are given: `stretch` (default), or `letterbox`: the whole image,
   * padded. See letterboxOf.
   */
  readonly fit?: "stretch" | "letterbox";
  /** Colour of the padding: red, green, blue, 0 to 255 each. Default black. */
  readonly background?: readonly [red: number, green: number, blue: number];
  /** Place of the image in its letterbox: in the middle (default), or at the left upper corner. */
  readonly align?: "center" | "start";
  /** 1 = grey (BT.601 luma), 3 = RGB, 4 = RGB and alpha. Default: those of the image, 3 when decoding. */
  readonly channels?: Channels;
}

/**
 * The image in another size, or with other channels. Throws `invalid_argument` for a value that is not an image, and
 * for an invalid size.
 */
export async function resizeImage(image: Tensor, options: ResizeOptions = {}): Promise<ImageTensor> {
  const shape = imageShape(image);
  const size = targetSize(shape, options);
  const pipeline = resize(await openImage(image), size, options);
  return countImage(await readImage(pipeline, options.channels ?? shape.channels));
}

/** Adds the resizing to a sharp pipeline. */
export function resize(pipeline: Sharp, size: Size, options: ResizeOptions): Sharp {
  checkFit(options);
  const { kernel = "lanczos3", fit, align, background = [0, 0, 0] } = options;
  if (fit !== "letterbox") return pipeline.resize({ ...size, fit: "fill", kernel });
  const [r, g, b] = background;
  const position = align === "start" ? "left top" : "centre";
  return pipeline.resize({ ...size, fit: "contain", position, background: { r, g, b, alpha: 1 }, kernel });
}

/** JavaScript may pass anything. */
function checkFit({ fit = "stretch", align = "center", background, width, height }: ResizeOptions): void {
  if (fit !== "stretch" && fit !== "letterbox") throw invalid(`fit is "${fit}"; expected stretch or letterbox`);
  if (align !== "center" && align !== "start") throw invalid(`align is "${align}"; expected center or start`);
  if (fit === "letterbox" && (width === undefined || height === undefined)) {
    throw invalid("a letterbox needs width and height; give both");
  }
  const isLevel = (level: number) => level >= 0 && level <= 255;
  if (background === undefined || (background.length === 3 && background.every(isLevel))) return;
  throw invalid(`background is [${background}]; expected red, green and blue from 0 to 255`);
}

function invalid(problem: string): ServingError {
  return invalidArgument(`The image cannot be resized: ${problem}.`);
}

/** A rectangle in pixels. */
export interface Edges {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** Place of an image in its letterbox, and the way back. */
export interface Letterbox extends Size {
  /** Room before the image, in pixels of the letterbox. */
  readonly left: number;
  readonly top: number;
  /** A rectangle of the letterbox as one of the image: what lies beyond the image's edges is cut off. */
  toImage(box: Edges): Edges;
}

/** Options of {@link letterboxOf}: those that `resizeImage` got. */
export interface LetterboxOptions extends Size {
  /** Place of the image: in the middle (default), or at the left upper corner. */
  readonly align?: "center" | "start";
}

/**
 * Tells where `resizeImage(image, { fit: "letterbox", … })` has put an image, to map the boxes that a model found back
 * to the image. Its `width` and `height` are those of the drawn image, without the padding. Throws `invalid_argument`
 * for tensors that are not images, and for an impossible size.
 */
export function letterboxOf(image: Tensor, options: LetterboxOptions): Letterbox {
  const source = imageShape(image);
  const outer = targetSize(source, options);
  const scale = Math.min(outer.width / source.width, outer.height / source.height);
  const width = Math.min(outer.width, Math.max(1, Math.round(source.width * scale)));
  const height = Math.min(outer.height, Math.max(1, Math.round(source.height * scale)));
  const isCentered = options.align !== "start";
  const left = isCentered ? Math.floor((outer.width - width) / 2) : 0;
  const top = isCentered ? Math.floor((outer.height - height) / 2) : 0;
  const toX = (x: number) => Math.min(source.width, Math.max(0, ((x - left) * source.width) / width));
  const toY = (y: number) => Math.min(source.height, Math.max(0, ((y - top) * source.height) / height));
  const toImage = (box: Edges) => ({
    left: toX(box.left),
    top: toY(box.top),
    right: toX(box.right),
    bottom: toY(box.bottom),
  });
  return { width, height, left, top, toImage };
}

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
  if (projection === undefined) throw invalidQuad("its corners lie on one line");
  const pixels = warp({ ...shape, data: image.data as Uint8Array }, projection, width, height);
  return countImage(createTensor("uint8", [height, width, shape.channels], pixels));
}

function checkCorners(corners: readonly Point[]): Corners {
  const isPoint = (point: Point | undefined) => Number.isFinite(point?.x) && Number.isFinite(point?.y);
  if (!Array.isArray(corners) || corners.length !== 4 || !corners.every(isPoint)) {
    throw invalidQuad("its corners are not four points { x, y } of finite numbers");
  }
  const quad = corners as unknown as Corners;
  if (Math.abs(areaOf(quad)) < 1e-6) throw invalidQuad("its corners lie on one line");
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
  throw invalidQuad(`its ${name} is ${side}; expected a positive number`);
}

function invalidQuad(problem: string): ServingError {
  return invalidArgument(`cropQuad cannot cut the quadrilateral: ${problem}.`);
}
