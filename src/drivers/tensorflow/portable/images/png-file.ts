import { crc32, inflateSync } from "node:zlib";
import { checkImageSize } from "./decoded-image.ts";

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
export interface PngFile {
  readonly width: number;
  readonly height: number;
  readonly depth: number;
  readonly colour: number;
  readonly channels: number;
  readonly isInterlaced: boolean;
  readonly palette: Uint8Array | undefined;
  /** The palette's alphas, or the one grey or colour that stands for nothing. */
  readonly transparent: Uint8Array | undefined;
  /** True where the file says how its numbers relate to light. */
  readonly hasGamma: boolean;
  readonly rows: Uint8Array;
}

/** Reads a PNG's chunks; throws an Error for what is damaged. */
export function parsePng(bytes: Uint8Array): PngFile {
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
