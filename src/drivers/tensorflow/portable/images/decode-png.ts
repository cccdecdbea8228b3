import { crc32, inflateSync } from "node:zlib";
import { checkImageSize, type Image } from "./decoded-image.ts";

/** Weights of red and green in grey that TensorFlow passes to libpng; blue has the rest of 32768. */
const [RED, GREEN] = [9797, 19234];
const BLUE = 32768 - RED - GREEN;

/** Form in which a PNG is wanted. */
interface PngForm {
  /** 0 = those of the file. */
  readonly channels: number;
  readonly bits: 8 | 16;
}

/** A pixel's colour and alpha, in numbers of `depth` bits. */
interface Colours {
  readonly depth: number;
  readonly isGrey: boolean;
  /** Grey, or red, green, blue; then alpha, if it has one. */
  readonly samples: Uint8Array | Uint16Array;
  readonly channels: number;
}

/**
 * Decodes a PNG as TensorFlow's DecodePng does, to the level. Throws an Error for damaged bytes, and for colours with
 * a gamma that are to become grey.
 */
export function decodePng(bytes: Uint8Array, { channels, bits }: PngForm): Image {
  const file = parsePng(bytes);
  const { width, height } = file;
  const wanted = channels || ownChannels(file);
  const colours = toColours(file, wanted % 2 === 0);
  if (wanted < 3 && !colours.isGrey && file.hasGamma) throw new Error("PNG with a gamma as grey is not supported");
  const data = new (bits === 16 ? Uint16Array : Uint8Array)(width * height * wanted);
  // The greatest number of the file's depth, for any form of the colours, as in TensorFlow.
  fill(data, wanted, { colours, alpha: 2 ** file.depth - 1 });
  if (bits === 16 && colours.depth === 8) for (const [at, value] of data.entries()) data[at] = value * 257;
  return { width, height, channels: wanted, data };
}

function ownChannels({ colour, channels, transparent }: PngFile): number {
  if (colour !== 3) return channels;
  return transparent === undefined ? 3 : 4;
}

/** Palettes become colours, few greys many, and a colour that stands for nothing gets alpha if that is wanted. */
function toColours(file: PngFile, wantsAlpha: boolean): Colours {
  const samples = readPngSamples(file);
  const { colour, depth, channels, transparent } = file;
  if (colour === 3) return fromPalette(file, samples);
  const isGrey = colour === 0 || colour === 4;
  const scale = depth < 8 ? 255 / (2 ** depth - 1) : 1;
  const full = depth < 8 ? samples.map((sample) => sample * scale) : samples;
  const colours = { depth: Math.max(depth, 8), isGrey, samples: full, channels };
  if (!wantsAlpha || transparent === undefined || colour === 4 || colour === 6) return colours;
  return withKey(colours, samples, transparent);
}

function fromPalette({ palette = new Uint8Array(), transparent }: PngFile, samples: Uint8Array | Uint16Array): Colours {
  const channels = transparent === undefined ? 3 : 4;
  const colours = new Uint8Array(samples.length * channels);
  for (const [pixel, index] of samples.entries()) {
    colours.set(palette.subarray(3 * index, 3 * index + 3), pixel * channels);
    if (transparent !== undefined) colours[pixel * channels + 3] = transparent[index] ?? 255;
  }
  return { depth: 8, isGrey: false, samples: colours, channels };
}

function withKey(colours: Colours, original: Uint8Array | Uint16Array, key: Uint8Array): Colours {
  const { channels: own, samples: full, depth } = colours;
  const keyed = Array.from({ length: own }, (_, at) => ((key[2 * at] ?? 0) << 8) | (key[2 * at + 1] ?? 0));
  const samples = new (depth === 16 ? Uint16Array : Uint8Array)((full.length / own) * (own + 1));
  for (let pixel = 0; pixel < full.length / own; pixel++) {
    samples.set(full.subarray(pixel * own, (pixel + 1) * own), pixel * (own + 1));
    const isNothing = keyed.every((value, channel) => original[pixel * own + channel] === value);
    samples[pixel * (own + 1) + own] = isNothing ? 0 : 2 ** depth - 1;
  }
  return { ...colours, samples, channels: own + 1 };
}

/** Puts every pixel in with the channels wanted; of 16 bits the upper 8 if 8 are wanted. */
function fill(
  data: Uint8Array | Uint16Array,
  wanted: number,
  { colours, alpha }: { readonly colours: Colours; readonly alpha: number },
): void {
  const { samples, channels, isGrey, depth } = colours;
  const shift = depth === 16 && data instanceof Uint8Array ? 8 : 0;
  const hasAlpha = channels % 2 === 0;
  for (let from = 0, to = 0; from < samples.length; from += channels) {
    const red = samples[from]!;
    const green = isGrey ? red : samples[from + 1]!;
    const blue = isGrey ? red : samples[from + 2]!;
    if (wanted < 3) data[to++] = toGrey(red, green, blue, depth) >> shift;
    else {
      data[to++] = red >> shift;
      data[to++] = green >> shift;
      data[to++] = blue >> shift;
    }
    if (wanted % 2 === 0) data[to++] = (hasAlpha ? samples[from + channels - 1]! : alpha) >> shift;
  }
}

function toGrey(red: number, green: number, blue: number, depth: number): number {
  if (red === green && red === blue) return red;
  return (RED * red + GREEN * green + BLUE * blue + (depth === 16 ? 16384 : 0)) >>> 15;
}

/** First pixel of an interlaced pass, and the distance between its pixels: https://www.w3.org/TR/png-3/#8Interlace */
const PASSES = [
  { x: 0, y: 0, across: 8, down: 8 },
  { x: 4, y: 0, across: 8, down: 8 },
  { x: 0, y: 4, across: 4, down: 8 },
  { x: 2, y: 0, across: 4, down: 4 },
  { x: 0, y: 2, across: 2, down: 4 },
  { x: 1, y: 0, across: 2, down: 2 },
  { x: 0, y: 1, across: 1, down: 2 },
] as const;
const WHOLE = [{ x: 0, y: 0, across: 1, down: 1 }] as const;

/** The samples of all pixels as the file has them, in numbers of its depth. Throws an Error if rows are missing. */
function readPngSamples(file: PngFile): Uint8Array | Uint16Array {
  const { width, height, channels, depth } = file;
  const samples = new (depth === 16 ? Uint16Array : Uint8Array)(width * height * channels);
  let at = 0;
  for (const { x, y, across, down } of file.isInterlaced ? PASSES : WHOLE) {
    const [columns, lines] = [Math.ceil((width - x) / across), Math.ceil((height - y) / down)];
    if (columns <= 0 || lines <= 0) continue;
    const rowBytes = Math.ceil((columns * channels * depth) / 8);
    let above = new Uint8Array(rowBytes);
    for (let line = 0; line < lines; line++, at += rowBytes + 1) {
      const row = unfilter(file, at, above);
      const start = (y + line * down) * width + x;
      for (let index = 0; index < columns * channels; index++) {
        const pixel = start + Math.floor(index / channels) * across;
        samples[pixel * channels + (index % channels)] = sampleOf(row, index, depth);
      }
      above = row;
    }
  }
  return samples;
}

/** A row, decoded in place; the byte before it is the kind of its prediction from its neighbours. */
function unfilter({ rows, channels, depth }: PngFile, at: number, above: Uint8Array): Uint8Array<ArrayBuffer> {
  const row = rows.subarray(at + 1, at + 1 + above.length) as Uint8Array<ArrayBuffer>;
  if (row.length < above.length) throw new Error("PNG with too few rows");
  const predict = PREDICTIONS[rows[at]!];
  if (predict === undefined) throw new Error("PNG with an unknown filter");
  const step = Math.max(1, (channels * depth) >> 3);
  for (let index = 0; index < row.length; index++) {
    const [left, corner] = index < step ? [0, 0] : [row[index - step]!, above[index - step]!];
    row[index] = row[index]! + predict(left, above[index]!, corner);
  }
  return row;
}

/** By the filter's number. */
const PREDICTIONS: readonly ((left: number, up: number, corner: number) => number)[] = [
  () => 0,
  (left) => left,
  (_, up) => up,
  (left, up) => (left + up) >> 1,
  paeth,
];

function paeth(left: number, up: number, corner: number): number {
  const [toLeft, toUp, toCorner] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
  if (toLeft <= toUp && toLeft <= toCorner) return left;
  return toUp <= toCorner ? up : corner;
}

function sampleOf(row: Uint8Array, index: number, depth: number): number {
  if (depth === 8) return row[index]!;
  if (depth === 16) return (row[2 * index]! << 8) | row[2 * index + 1]!;
  const bit = index * depth;
  return (row[bit >> 3]! >> (8 - depth - (bit & 7))) & ((1 << depth) - 1);
}

/** Channels by colour type; of type 3, numbers of colours in a palette. */
const CHANNELS: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };
const DEPTHS: Readonly<Record<number, readonly number[]>> = {
  0: [1, 2, 4, 8, 16],
  2: [8, 16],
  3: [1, 2, 4, 8],
  4: [8, 16],
  6: [8, 16],
};
const SIGNATURE_BYTES = 8;
/** Bytes that one byte of deflated data becomes at most. */
const DEFLATE_RATIO = 1032;
/** Length, type and checksum of a chunk. */
const FRAME_BYTES = 12;

/** A PNG's header, its tables, and its filtered rows. */
interface PngFile {
  readonly width: number;
  readonly height: number;
  readonly depth: number;
  readonly colour: number;
  readonly channels: number;
  readonly isInterlaced: boolean;
  readonly palette: Uint8Array | undefined;
  /** The palette's alphas, or the one grey or colour that stands for nothing. */
  readonly transparent: Uint8Array | undefined;
  /** True if the file says how its numbers relate to light. */
  readonly hasGamma: boolean;
  readonly rows: Uint8Array;
}

/** Reads a PNG's chunks; throws an Error for damaged ones. */
function parsePng(bytes: Uint8Array): PngFile {
  const chunks = new Map<string, Uint8Array[]>();
  for (const { type, data } of chunksOf(bytes)) {
    const same = chunks.get(type);
    if (same === undefined) chunks.set(type, [data]);
    else same.push(data);
  }
  const header = readHeader(chunks.get("IHDR")?.[0], bytes.length);
  const [palette, transparent] = [chunks.get("PLTE")?.[0], chunks.get("tRNS")?.[0]];
  if (header.colour === 3 && palette === undefined) throw new Error("PNG without its palette");
  const hasGamma = ["gAMA", "sRGB", "iCCP", "cICP"].some((type) => chunks.has(type));
  return { ...header, palette, transparent, hasGamma, rows: inflate(chunks.get("IDAT") ?? [], header) };
}

function* chunksOf(bytes: Uint8Array): Generator<{ type: string; data: Uint8Array }> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = SIGNATURE_BYTES; ; ) {
    const length = at + FRAME_BYTES <= bytes.length ? view.getUint32(at) : Number.POSITIVE_INFINITY;
    const end = at + FRAME_BYTES + length;
    if (end > bytes.length) throw new Error("PNG ends too early");
    const named = bytes.subarray(at + 4, end - 4);
    if (crc32(named) !== view.getUint32(end - 4)) throw new Error("PNG chunk with a wrong checksum");
    const type = String.fromCharCode(...named.subarray(0, 4));
    yield { type, data: named.subarray(4) };
    if (type === "IEND") return;
    at = end;
  }
}

function readHeader(data: Uint8Array | undefined, fileBytes: number) {
  if (data?.length !== 13) throw new Error("PNG without its header");
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const [width, height, depth, colour] = [view.getUint32(0), view.getUint32(4), view.getUint8(8), view.getUint8(9)];
  const channels = CHANNELS[colour];
  if (channels === undefined || !DEPTHS[colour]?.includes(depth) || width === 0 || height === 0)
    throw new Error("PNG with an impossible header");
  checkImageSize(width, height);
  const rowBytes = (width * channels * depth) / 8;
  if (rowBytes * height > fileBytes * DEFLATE_RATIO) throw new Error("PNG with too few rows");
  return { width, height, depth, colour, channels, isInterlaced: view.getUint8(12) === 1 };
}

function inflate(parts: readonly Uint8Array[], { width, height }: { readonly width: number; readonly height: number }) {
  // Eight bytes a pixel, and a filter for each of the rows of seven passes.
  const maxOutputLength = 8 * width * height + 7 * (height + width) + 64;
  try {
    return new Uint8Array(inflateSync(Buffer.concat(parts), { maxOutputLength }));
  } catch (cause) {
    throw new Error("PNG with damaged data", { cause });
  }
}
