import { assertHolds, type PlainImage } from "./plain-image.ts";

/** Lengths of a file's first header, and of the oldest second one, which has 16-bit sizes. */
const FILE_HEADER = 14;
const CORE_HEADER = 12;
const INFO_HEADER = 40;
/** Least length of a header that has a mask for alpha. */
const ALPHA_HEADER = 56;

const PLAIN = 0;
const MASKS = 3;
const ALPHA_MASKS = 6;
const COMPRESSIONS: Readonly<Record<number, string>> = { 1: "run lengths", 2: "run lengths", 4: "JPEG", 5: "PNG" };

interface Header {
  readonly width: number;
  readonly height: number;
  /** True if the first row is the lowest. */
  readonly isBottomUp: boolean;
  readonly bits: number;
  readonly compression: number;
  /** Offset of the rows, and bytes of each. */
  readonly start: number;
  readonly stride: number;
  /** Red, green and blue of each colour, if pixels are indices. */
  readonly palette: Uint8Array;
  /** Masks of red, green, blue and alpha in a pixel. */
  readonly masks: readonly number[];
}

/**
 * Opens a BMP of 1, 4, 8, 16, 24 or 32 bits, and gives the pixels that OpenCV gives: a palette of greys is grey, 32
 * bits have alpha only if masks say so, 16 bits are not stretched to the whole range. Throws for one that is damaged
 * or compressed.
 */
export function openBmp(bytes: Uint8Array): PlainImage {
  const header = readHeader(bytes);
  const { width, height, bits, compression, start, stride } = header;
  assertHolds(bytes, start + stride * height, header);
  const channels = bits <= 8 && isGrey(header.palette) ? 1 : bits === 32 && compression !== PLAIN ? 4 : 3;
  const decode = () => decodeRows(bytes, header, channels);
  return { width, height, channels, depth: "uchar", maxValue: 255, decode };
}

function readHeader(bytes: Uint8Array): Header {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < FILE_HEADER + CORE_HEADER) throw new Error("its header is cut short");
  const length = view.getUint32(FILE_HEADER, true);
  if (bytes.length < FILE_HEADER + length) throw new Error("its header is cut short");
  const isCore = length === CORE_HEADER;
  const width = isCore ? view.getUint16(18, true) : view.getInt32(18, true);
  const height = isCore ? view.getUint16(20, true) : view.getInt32(22, true);
  const bits = view.getUint16(isCore ? 24 : 28, true);
  const compression = isCore ? PLAIN : view.getUint32(30, true);
  if (width <= 0 || height === 0) throw new Error(`its header claims ${width} x ${height} pixels`);
  checkForm(bits, compression);
  const start = view.getUint32(10, true);
  return {
    ...{ width, height: Math.abs(height), isBottomUp: height > 0, bits, compression, start },
    stride: Math.ceil((width * bits) / 32) * 4,
    palette: bits > 8 ? NO_COLOURS : readPalette(bytes, { at: FILE_HEADER + length, end: start, isCore, bits }),
    masks: readMasks(view, { bits, compression, length }),
  };
}

function checkForm(bits: number, compression: number): void {
  const hasMasks = (compression === MASKS || compression === ALPHA_MASKS) && (bits === 16 || bits === 32);
  if ([1, 4, 8, 16, 24, 32].includes(bits) && (compression === PLAIN || hasMasks)) return;
  const by = COMPRESSIONS[compression];
  if (by !== undefined) throw new Error(`it is a BMP compressed by ${by}; save it without compression, or as PNG`);
  throw new Error(`it is a BMP of ${bits} bits and compression ${compression}, which there is not`);
}

const NO_COLOURS = new Uint8Array(0);

interface PalettePlace {
  readonly at: number;
  readonly end: number;
  readonly isCore: boolean;
  readonly bits: number;
}

/** Colours that the file leaves out are black. */
function readPalette(bytes: Uint8Array, { at, end, isCore, bits }: PalettePlace): Uint8Array {
  const size = isCore ? 3 : 4;
  const palette = new Uint8Array(3 * 2 ** bits);
  for (let index = 0; index < 2 ** bits; index++) {
    const place = at + index * size;
    if (place + size > Math.min(end, bytes.length)) break;
    palette.set([bytes[place + 2]!, bytes[place + 1]!, bytes[place]!], 3 * index);
  }
  return palette;
}

/** As OpenCV takes it: colours that the file leaves out count too. */
function isGrey(palette: Uint8Array): boolean {
  for (let at = 0; at < palette.length; at += 3)
    if (palette[at] !== palette[at + 1] || palette[at] !== palette[at + 2]) return false;
  return true;
}

const FIVE_BITS = [0x7c00, 0x3e0, 0x1f, 0];
const EIGHT_BITS = [0xff0000, 0xff00, 0xff, 0xff000000];

function readMasks(
  view: DataView,
  { bits, compression, length }: { readonly bits: number; readonly compression: number; readonly length: number },
): readonly number[] {
  if (compression === PLAIN) return bits === 16 ? FIVE_BITS : EIGHT_BITS;
  const at = FILE_HEADER + INFO_HEADER;
  if (view.byteLength < at + 16) throw new Error("its header is cut short");
  const colours = [0, 4, 8].map((offset) => view.getUint32(at + offset, true));
  if (bits === 16) return [...colours, 0];
  const hasAlpha = length >= ALPHA_HEADER || compression === ALPHA_MASKS;
  return [...colours, hasAlpha ? view.getUint32(at + 12, true) : (EIGHT_BITS[3] as number)];
}

function decodeRows(bytes: Uint8Array, header: Header, channels: PlainImage["channels"]): Uint8Array {
  const { width, height, isBottomUp, bits, start, stride } = header;
  const pixels = new Uint8Array(width * height * channels);
  const decodeRow = bits <= 8 ? indexedRow : bits === 24 ? blueFirstRow : maskedRow;
  for (let y = 0; y < height; y++) {
    const from = start + (isBottomUp ? height - 1 - y : y) * stride;
    const row = pixels.subarray(y * width * channels, (y + 1) * width * channels);
    decodeRow(row, bytes.subarray(from, from + stride), { ...header, channels });
  }
  return pixels;
}

type Form = Header & Pick<PlainImage, "channels">;

function indexedRow(row: Uint8Array, bytes: Uint8Array, { width, bits, palette, channels }: Form): void {
  const mask = 2 ** bits - 1;
  for (let x = 0; x < width; x++) {
    const bit = x * bits;
    const colour = 3 * ((bytes[bit >>> 3]! >>> (8 - bits - (bit & 7))) & mask);
    for (let channel = 0; channel < channels; channel++) row[x * channels + channel] = palette[colour + channel]!;
  }
}

function blueFirstRow(row: Uint8Array, bytes: Uint8Array): void {
  for (let at = 0; at < row.length; at += 3) {
    row[at] = bytes[at + 2]!;
    row[at + 1] = bytes[at + 1]!;
    row[at + 2] = bytes[at]!;
  }
}

function maskedRow(row: Uint8Array, bytes: Uint8Array, { width, bits, masks, channels }: Form): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const scales = masks.map(scaleOf);
  for (let x = 0; x < width; x++) {
    const value = bits === 16 ? view.getUint16(2 * x, true) : view.getUint32(4 * x, true);
    for (let channel = 0; channel < channels; channel++) row[x * channels + channel] = scales[channel]!(value);
  }
}

/** The value of a mask's bits as a byte: its upper bits, if they are fewer; all of them if there is no mask. */
function scaleOf(mask: number): (pixel: number) => number {
  if (mask === 0) return () => 255;
  const low = 31 - Math.clz32(mask & -mask);
  const count = 32 - Math.clz32(mask >>> low);
  return (pixel) => {
    const value = (pixel & mask) >>> low;
    return count > 8 ? value >>> (count - 8) : value << (8 - count);
  };
}
