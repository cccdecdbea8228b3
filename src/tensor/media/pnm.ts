import { assertHolds, type PlainImage } from "./plain-image.ts";

/** Bytes of a header that are looked at; comments may make it long. */
const MAX_HEADER_BYTES = 64 * 1024;
const SPACES: ReadonlySet<number> = new Set([9, 10, 11, 12, 13, 32]);
const [NEW_LINE, HASH, ZERO, NINE] = [10, 35, 48, 57];
const MAX_VALUE = 65_535;

interface Form {
  readonly width: number;
  readonly height: number;
  /** Samples of a pixel in the file: 2 = grey and alpha. */
  readonly samples: number;
  readonly maxValue: number;
  /** Form of the samples: one bit each (1 = black), bytes or pairs of bytes, or digits. */
  readonly coding: "bits" | "bytes" | "digits";
  /** Offset of the samples. */
  readonly start: number;
}

/**
 * Opens a PBM, PGM, PPM (`P1` to `P6`) or PAM (`P7`), and gives the pixels that OpenCV gives: 16 bits stay 16; bytes
 * stay as they are whatever the greatest value is, and digits are scaled to it. Grey with alpha becomes four channels.
 * Throws for a damaged image.
 */
export function openPnm(bytes: Uint8Array): PlainImage {
  const form = bytes[1] === ZERO + 7 ? readPam(bytes) : readPnm(bytes);
  const { width, height, samples, maxValue } = form;
  if (width < 1 || height < 1) throw new Error(`its header claims ${width} x ${height} pixels`);
  if (maxValue < 1 || maxValue > MAX_VALUE) throw new Error(`its header claims values up to ${maxValue}`);
  assertHolds(bytes, form.start + bytesOf(form), form);
  const channels = ([1, 4, 3, 4] as const)[samples - 1]!;
  const depth = isDeep(form) ? "ushort" : "uchar";
  const isScaled = depth === "uchar" && (form.coding !== "bytes" || maxValue === 1);
  const decode = () => decodeSamples(bytes, form);
  return { width, height, channels, depth, maxValue: isScaled ? 255 : maxValue, decode };
}

function isDeep({ maxValue }: Form): boolean {
  return maxValue > 255;
}

/** The least that the samples take. */
function bytesOf(form: Form): number {
  const { width, height, samples, coding } = form;
  if (coding === "bits") return Math.ceil(width / 8) * height;
  return width * height * samples * (coding === "bytes" && isDeep(form) ? 2 : 1);
}

function readPnm(bytes: Uint8Array): Form {
  const kind = bytes[1]! - ZERO;
  const isBits = kind === 1 || kind === 4;
  const reader = new Digits(bytes.subarray(0, MAX_HEADER_BYTES), 2);
  const [width, height] = [reader.next(), reader.next()];
  const maxValue = isBits ? 1 : reader.next();
  const coding = kind < 4 ? "digits" : isBits ? "bits" : "bytes";
  // A single space ends the header.
  return { width, height, maxValue, samples: kind === 3 || kind === 6 ? 3 : 1, coding, start: reader.position + 1 };
}

function readPam(bytes: Uint8Array): Form {
  const head = Buffer.from(bytes.subarray(0, MAX_HEADER_BYTES)).toString("latin1");
  const end = head.indexOf("\nENDHDR\n");
  if (end < 0) throw new Error("its header has no end");
  const numberOf = (name: string) => Number(new RegExp(`\n${name}[ \t](\\d{1,9})`).exec(head.slice(0, end))?.[1] ?? 0);
  const samples = numberOf("DEPTH");
  if (samples < 1 || samples > 4) throw new Error(`its pixels have ${samples} samples; expected 1 to 4`);
  const size = { width: numberOf("WIDTH"), height: numberOf("HEIGHT") };
  return { ...size, samples, maxValue: numberOf("MAXVAL"), coding: "bytes", start: end + "\nENDHDR\n".length };
}

function decodeSamples(bytes: Uint8Array, form: Form): Uint8Array | Uint16Array {
  const { width, height, samples } = form;
  const values = new (isDeep(form) ? Uint16Array : Uint8Array)(width * height * samples);
  if (form.coding === "bits") fillBits(values, bytes, form);
  else if (form.coding === "digits") fillDigits(values, bytes, form);
  else fillBytes(values, bytes, form);
  return samples === 2 ? toColour(values) : values;
}

type Values = Uint8Array | Uint16Array;

function fillBits(values: Values, bytes: Uint8Array, { width, height, start }: Form): void {
  const stride = Math.ceil(width / 8);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const isBlack = (bytes[start + y * stride + (x >>> 3)]! >>> (7 - (x & 7))) & 1;
      values[y * width + x] = isBlack ? 0 : 255;
    }
  }
}

/** Black and white of a PAM are 0 and 1. */
function fillBytes(values: Values, bytes: Uint8Array, { start, maxValue }: Form): void {
  if (values instanceof Uint16Array) {
    for (let at = 0; at < values.length; at++) values[at] = bytes[start + 2 * at]! * 256 + bytes[start + 2 * at + 1]!;
  } else if (maxValue === 1) {
    for (let at = 0; at < values.length; at++) values[at] = bytes[start + at] === 0 ? 0 : 255;
  } else values.set(bytes.subarray(start, start + values.length));
}

function fillDigits(values: Values, bytes: Uint8Array, { start, samples, maxValue }: Form): void {
  // A bitmap's digits need no spaces between them, and 1 is black.
  const isBitmap = samples === 1 && maxValue === 1 && bytes[1] === ZERO + 1;
  const reader = new Digits(bytes, start);
  const scale = values instanceof Uint16Array ? 1 : 255 / maxValue;
  for (let at = 0; at < values.length; at++) {
    if (isBitmap) values[at] = reader.digit() === 0 ? 255 : 0;
    else values[at] = Math.floor(Math.min(reader.next(), maxValue) * scale);
  }
}

/** Grey and alpha as red, green, blue and alpha. */
function toColour(pairs: Values): Values {
  const colour = new (pairs instanceof Uint16Array ? Uint16Array : Uint8Array)(2 * pairs.length);
  for (let at = 0; at < pairs.length; at += 2) {
    colour.fill(pairs[at]!, 2 * at, 2 * at + 3);
    colour[2 * at + 3] = pairs[at + 1]!;
  }
  return colour;
}

/** Numbers in decimal digits, with spaces and comments between them. */
class Digits {
  readonly #bytes: Uint8Array;
  #position: number;

  constructor(bytes: Uint8Array, start: number) {
    this.#bytes = bytes;
    this.#position = start;
  }

  /** The place behind what was read last. */
  get position(): number {
    return this.#position;
  }

  next(): number {
    let value = this.digit();
    while (this.#isDigit()) value = Math.min(value * 10 + this.#take(), Number.MAX_SAFE_INTEGER);
    return value;
  }

  digit(): number {
    this.#skip();
    if (!this.#isDigit()) throw new Error(`a number is missing at byte ${this.#position}`);
    return this.#take();
  }

  #take(): number {
    return this.#bytes[this.#position++]! - ZERO;
  }

  #isDigit(): boolean {
    const byte = this.#bytes[this.#position] ?? 0;
    return byte >= ZERO && byte <= NINE;
  }

  #skip(): void {
    for (;;) {
      const byte = this.#bytes[this.#position] ?? 0;
      if (byte === HASH)
        while (this.#position < this.#bytes.length && this.#bytes[this.#position] !== NEW_LINE) this.#position++;
      else if (!SPACES.has(byte)) return;
      this.#position++;
    }
  }
}
