import { checkPixels, DEFAULT_MAX_PIXELS, openEncoded } from "./image-tensor.ts";
import { type PixelHeader, parsingFailed, readPixelHeader } from "./pixel-header.ts";
import type { PlainImage } from "./plain-image.ts";

/** Decoded pixels as the file holds them: channels next to one another, rows from the top. */
export interface Pixels {
  /** 8 or 16 bits for each channel. */
  readonly data: Uint8Array | Uint16Array;
  readonly width: number;
  readonly height: number;
  /** 1 = grey, 3 = RGB, 4 = RGB and alpha. */
  readonly channels: 1 | 3 | 4;
}

/** Options of decodePixels. */
export interface DecodePixelsOptions {
  /** Turn the image as its EXIF orientation says. */
  readonly exif: boolean;
  /** Refuse larger images before any pixel is decoded. Default 100 million. */
  readonly maxPixels?: number;
  /** The image's header, if it was read before. */
  readonly header?: PixelHeader;
}

/**
 * Decodes an image and leaves depth and channels as the file has them, as OpenCV's IMREAD_UNCHANGED
 * does: grey stays grey, 16 bits stay 16, alpha stays (grey with alpha becomes four channels),
 * colour profiles are ignored. Of several frames the first. Throws `invalid_argument` for bytes
 * that are not an image, damaged or too large. The caller has reserved the memory.
 */
export async function decodePixels(bytes: Uint8Array, options: DecodePixelsOptions): Promise<Pixels> {
  const { exif, maxPixels = DEFAULT_MAX_PIXELS } = options;
  const header = options.header ?? (await readPixelHeader(bytes));
  checkPixels("The image", header, maxPixels);
  const { plain } = header;
  const { width, height, channels: own } = header;
  if (plain !== undefined) return { data: decodePlain(plain), width, height, channels: own };
  try {
    const pipeline = await openEncoded(bytes, { limitInputPixels: maxPixels, autoOrient: exif, ignoreIcc: true });
    const { space, channels, depth } = header;
    const opaque = channels === 4 ? pipeline.ensureAlpha() : pipeline.removeAlpha();
    const { data, info } = await opaque.toColourspace(space).raw({ depth }).toBuffer({ resolveWithObject: true });
    const pixels = depth === "ushort" ? new Uint16Array(data.buffer, data.byteOffset, data.length / 2) : data;
    return { data: pixels, width: info.width, height: info.height, channels };
  } catch (cause) {
    throw parsingFailed(cause);
  }
}

function decodePlain(plain: PlainImage): Pixels["data"] {
  try {
    return plain.decode();
  } catch (cause) {
    throw parsingFailed(cause);
  }
}

/** An image's values, channels next to one another, rows from the top. */
export interface Raster {
  readonly data: ArrayLike<number>;
  readonly width: number;
  readonly height: number;
  readonly channels: number;
}

/** The array that the values go to. */
export interface ResampleTarget {
  readonly width: number;
  readonly height: number;
  /**
   * Fit of an image of another aspect ratio: stretched, cropped to the middle, or whole, with the edges left as they
   * are.
   */
  readonly fit: "stretch" | "crop" | "letterbox";
  readonly data: Float32Array | Float64Array;
  /** Places in `data` from one pixel to the next. */
  readonly pixelStride: number;
  /** Index in `data` of the first pixel's value of each channel. */
  readonly starts: readonly number[];
}

/**
 * Bilinear resampling as OpenCV's INTER_LINEAR: pixel centres are at half coordinates, edges are repeated, and nothing
 * is averaged when an image shrinks. An image of the wanted size passes unchanged.
 */
export function resample(source: Raster, target: ResampleTarget): void {
  const drawn = drawnSize(source, target);
  const columns = taps(source.width, target.width, drawn.width);
  const rows = taps(source.height, target.height, drawn.height);
  for (let y = 0; y < target.height; y++) {
    if (rows.first[y]! >= 0) resampleRow(source, target, { y, rows, columns });
  }
}

/** For each place along one axis: the two source places it lies between, and how far it is from the first. */
interface Taps {
  /** -1 = the place is outside the image. */
  readonly first: Int32Array;
  readonly second: Int32Array;
  readonly weight: Float64Array;
}

interface Row {
  readonly y: number;
  readonly rows: Taps;
  readonly columns: Taps;
}

/** Size to which the whole image is resized: a crop shows a part of that, a letterbox has room around it. */
function drawnSize(source: Raster, { width, height, fit }: ResampleTarget): { width: number; height: number } {
  if (fit === "stretch") return { width, height };
  const [scaleX, scaleY] = [width / source.width, height / source.height];
  const scale = fit === "crop" ? Math.max(scaleX, scaleY) : Math.min(scaleX, scaleY);
  const side = (size: number) => Math.max(1, Math.round(size * scale));
  return { width: side(source.width), height: side(source.height) };
}

function taps(sourceSize: number, size: number, drawnSize: number): Taps {
  const result = { first: new Int32Array(size), second: new Int32Array(size), weight: new Float64Array(size) };
  const scale = sourceSize / drawnSize;
  const start = Math.trunc((size - drawnSize) / 2);
  for (let place = 0; place < size; place++) {
    const at = (place - start + 0.5) * scale - 0.5;
    const floor = Math.floor(at);
    const isOutside = place < start || place >= start + drawnSize;
    result.first[place] = isOutside ? -1 : Math.max(0, floor);
    result.second[place] = Math.min(sourceSize - 1, Math.max(0, floor + 1));
    result.weight[place] = floor < 0 ? 0 : at - floor;
  }
  return result;
}

function resampleRow(source: Raster, target: ResampleTarget, { y, rows, columns }: Row): void {
  const { width, channels } = source;
  const upper = rows.first[y]! * width * channels;
  const lower = rows.second[y]! * width * channels;
  const line = { upper, lower, down: rows.weight[y]!, start: y * target.width * target.pixelStride, columns };
  if (channels === 3) drawColours(source, target, line);
  else drawChannels(source, target, line);
}

interface Line {
  /** Indices in the source of the two rows that the line lies between, and its distance from the first. */
  readonly upper: number;
  readonly lower: number;
  readonly down: number;
  /** Index in the target of the line's beginning. */
  readonly start: number;
  readonly columns: Taps;
}

/** Any number of channels. */
function drawChannels({ data, channels }: Raster, target: ResampleTarget, line: Line): void {
  const { upper, lower, down, columns } = line;
  for (let x = 0, place = line.start; x < target.width; x++, place += target.pixelStride) {
    const left = columns.first[x]! * channels;
    if (left < 0) continue;
    const right = columns.second[x]! * channels;
    const across = columns.weight[x]!;
    for (let channel = 0; channel < channels; channel++) {
      const a = data[upper + left + channel]!;
      const c = data[lower + left + channel]!;
      const above = a + (data[upper + right + channel]! - a) * across;
      const below = c + (data[lower + right + channel]! - c) * across;
      target.data[place + target.starts[channel]!] = above + (below - above) * down;
    }
  }
}

/** The same for nearly every image, a third faster: written out for three channels. */
function drawColours({ data }: Raster, target: ResampleTarget, line: Line): void {
  const { upper, lower, down } = line;
  const { first, second, weight } = line.columns;
  const { width, pixelStride, data: into } = target;
  const [red, green, blue] = target.starts as [number, number, number];
  for (let x = 0, place = line.start; x < width; x++, place += pixelStride) {
    const left = first[x]! * 3;
    if (left < 0) continue;
    const right = second[x]! * 3;
    const across = weight[x]!;
    let a = data[upper + left]!;
    let c = data[lower + left]!;
    let above = a + (data[upper + right]! - a) * across;
    into[place + red] = above + (c + (data[lower + right]! - c) * across - above) * down;
    a = data[upper + left + 1]!;
    c = data[lower + left + 1]!;
    above = a + (data[upper + right + 1]! - a) * across;
    into[place + green] = above + (c + (data[lower + right + 1]! - c) * across - above) * down;
    a = data[upper + left + 2]!;
    c = data[lower + left + 2]!;
    above = a + (data[upper + right + 2]! - a) * across;
    into[place + blue] = above + (c + (data[lower + right + 2]! - c) * across - above) * down;
  }
}
