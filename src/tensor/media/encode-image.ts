import { invalidArgument } from "../../errors.ts";
import type { Tensor } from "../tensor.ts";
import { type ImageTensor, imageShape, openImage, readImage, type Size } from "./image-tensor.ts";

/** Options of {@link encodeImage}. */
export interface EncodeOptions {
  readonly format: "jpeg" | "png" | "webp";
  /** 1 to 100, for JPEG and WebP; default 80. PNG is lossless and has no quality. */
  readonly quality?: number;
}

/**
 * Encodes an image into a file's bytes. JPEG drops alpha. Throws `invalid_argument` for a value that is not an image,
 * and for an invalid quality.
 */
export async function encodeImage(image: Tensor, { format, quality = 80 }: EncodeOptions): Promise<Buffer> {
  if (!Number.isInteger(quality) || quality < 1 || quality > 100) {
    throw invalidArgument(`The image quality is ${quality}; expected an integer of 1 to 100.`);
  }
  const pipeline = await openImage(image);
  switch (format) {
    case "jpeg":
      return pipeline.jpeg({ quality }).toBuffer();
    case "png":
      return pipeline.png().toBuffer();
    case "webp":
      return pipeline.webp({ quality }).toBuffer();
  }
  throw invalidArgument(`Image format "${format}" is unknown; expected jpeg, png or webp.`);
}

/** A rectangle to draw, in pixels from the image's left upper corner. */
export interface LabelledBox {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
  /** Text at the upper edge. It needs a font on the machine: slim containers have none. */
  readonly label?: string;
  /** A CSS colour; default `lime`. */
  readonly color?: string;
}

/**
 * The image with rectangles and their labels drawn on it; lines and letters grow with the image. Throws
 * `invalid_argument` for a value that is not an image.
 */
export async function drawBoxes(image: Tensor, boxes: readonly LabelledBox[]): Promise<ImageTensor> {
  const shape = imageShape(image);
  const layer = Buffer.from(toSvg(boxes, shape));
  return readImage((await openImage(image)).composite([{ input: layer }]), shape.channels);
}

function toSvg(boxes: readonly LabelledBox[], { width, height }: Size): string {
  const fontSize = Math.max(10, Math.round(Math.min(width, height) / 25));
  const shapes = boxes.map((box) => toRectangle(box, fontSize) + toLabel(box, fontSize));
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${shapes.join("")}</svg>`;
}

function toRectangle({ left, top, right, bottom, color = "lime" }: LabelledBox, fontSize: number): string {
  const place = `x="${left}" y="${top}" width="${right - left}" height="${bottom - top}"`;
  return `<rect ${place} fill="none" stroke="${escapeXml(color)}" stroke-width="${fontSize / 8}"/>`;
}

/** Above the box, or inside it where the image ends; a dark rim keeps it readable on any background. */
function toLabel({ left, top, label, color = "lime" }: LabelledBox, fontSize: number): string {
  if (label === undefined) return "";
  const baseline = top > 1.5 * fontSize ? top - 0.4 * fontSize : top + 1.1 * fontSize;
  const place = `x="${left + 0.2 * fontSize}" y="${baseline}"`;
  const rim = `stroke="black" stroke-width="${fontSize / 6}" paint-order="stroke"`;
  const font = `font-family="sans-serif" font-size="${fontSize}"`;
  return `<text ${place} ${font} ${rim} fill="${escapeXml(color)}">${escapeXml(label)}</text>`;
}

function escapeXml(text: string): string {
  return text.replace(/\p{Cc}/gu, " ").replace(/[<>&"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
