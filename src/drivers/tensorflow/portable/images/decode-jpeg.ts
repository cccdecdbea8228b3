import { checkImageSize, type Image } from "./decoded-image.ts";
import { createHuffmanTable, type HuffmanTable } from "./entropy-reader.ts";
import { type JpegFrame, readJpegFrame, toSamples, upsample } from "./jpeg-frame.ts";
import { checkJpegScan, DIAGONALS, type JpegScan, readJpegScan } from "./jpeg-scan.ts";

/** The second bytes of markers. */
const MARKER = {
  frame: 0xc0,
  progressiveFrame: 0xc2,
  huffman: 0xc4,
  end: 0xd9,
  scan: 0xda,
  quantization: 0xdb,
} as const;
const [EXTENDED_FRAME, RESTARTS, RESTART_INTERVAL, ADOBE, JFIF] = [0xc1, 0xd0, 0xdd, 0xee, 0xe0];
const COMMENT = 0xfe;

/** A block of 64 pixels takes at least one bit, but a small image may be less than a block in some component. */
const PIXELS_PER_BYTE = 512;
const SMALL_PIXELS = 65_536;

/** Each scan of a few bytes may go over all pixels; progressive files have about ten. */
const MAX_SCANS = 100;

/**
 * Decodes a JPEG to the level as TensorFlow's DecodeJpeg does by default; 0 `channels` are
 * those of the file. Throws an Error for damaged data, which TensorFlow fills up in
 * part, and for what few files have: arithmetic coding, 12 bits, four colours.
 */
export function decodeJpeg(bytes: Uint8Array, channels: 0 | 1 | 3): Image {
  const parser = new JpegParser(bytes);
  const { frame } = parser;
  const { width, height, components } = frame;
  const wanted = channels === 0 ? components.length : channels;
  const isRgb = parser.isRgb;
  if (isRgb && wanted === 1) throw new Error("JPEG of RGB as grey is not supported");
  const planes = components.slice(0, wanted).map((component) => {
    const quantization = parser.quantizations.get(component.quantization);
    if (quantization === undefined) throw new Error("Corrupt JPEG data: a quantization table was not defined");
    return upsample(toSamples(component, quantization), component, frame);
  });
  const [luma, blue, red] = planes as [Uint8Array, Uint8Array?, Uint8Array?];
  const shape = { width, height, channels: wanted };
  if (wanted === 1) return { ...shape, data: luma };
  if (blue === undefined || red === undefined) return { ...shape, data: interleave([luma, luma, luma]) };
  return { ...shape, data: isRgb ? interleave([luma, blue, red]) : toRgb(luma, blue, red) };
}

function interleave(planes: readonly Uint8Array[]): Uint8Array {
  const [{ length }] = planes as [Uint8Array];
  const pixels = new Uint8Array(length * planes.length);
  for (const [channel, plane] of planes.entries())
    for (let at = 0; at < length; at++) pixels[at * planes.length + channel] = plane[at]!;
  return pixels;
}

/** BT.601 with 16 bits of fraction, green rounded once. */
function toRgb(luma: Uint8Array, blue: Uint8Array, red: Uint8Array): Uint8Array {
  const pixels = new Uint8ClampedArray(luma.length * 3);
  for (let at = 0; at < luma.length; at++) {
    const y = luma[at]!;
    const b = blue[at]! - 128;
    const r = red[at]! - 128;
    pixels[3 * at] = y + ((91881 * r + 32768) >> 16);
    pixels[3 * at + 1] = y + ((-22554 * b - 46802 * r + 32768) >> 16);
    pixels[3 * at + 2] = y + ((116130 * b + 32768) >> 16);
  }
  return new Uint8Array(pixels.buffer);
}

/** Reads a file's tables and coefficients. */
class JpegParser {
  readonly quantizations = new Map<number, Uint16Array>();
  readonly #bytes: Uint8Array;
  readonly #tables = new Map<number, HuffmanTable>();
  #frame: JpegFrame | undefined;
  #interval = 0;
  /** Colours by an Adobe header: 0 = RGB. */
  #adobe: number | undefined;
  #isJfif = false;
  #scans = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    for (let at = 2; ; ) {
      const marker = this.#markerAt(at);
      if (marker.code === MARKER.end) break;
      at = this.#read(marker.code, this.#segment(marker.start), marker.start);
    }
    if (this.#scans === 0) throw new Error("JPEG without pixels");
  }

  get frame(): JpegFrame {
    if (this.#frame === undefined) throw new Error("Corrupt JPEG data: no frame header");
    return this.#frame;
  }

  get isRgb(): boolean {
    if (this.frame.components.length !== 3 || this.#isJfif) return false;
    return this.#adobe === undefined
      ? String.fromCharCode(...this.frame.components.map(({ id }) => id)) === "RGB"
      : this.#adobe === 0;
  }

  /** Any number of 255 may stand before a marker's code. */
  #markerAt(from: number): { readonly code: number; readonly start: number } {
    let at = from;
    if (this.#bytes[at] !== 0xff) throw new Error("Corrupt JPEG data: a marker is missing");
    while (this.#bytes[at] === 0xff) at++;
    const code = this.#bytes[at];
    if (code === undefined || code === 0) throw new Error("Corrupt JPEG data: premature end of file");
    return { code, start: at + 1 };
  }

  #segment(start: number): Uint8Array {
    const length = (this.#bytes[start]! << 8) | this.#bytes[start + 1]!;
    if (!(length >= 2 && start + length <= this.#bytes.length))
      throw new Error("Corrupt JPEG data: premature end of file");
    return this.#bytes.subarray(start + 2, start + length);
  }

  /** Returns the next marker's position. */
  #read(code: number, segment: Uint8Array, start: number): number {
    const next = start + 2 + segment.length;
    if (code === MARKER.scan) return readJpegScan(this.frame, this.#scanOf(segment), this.#bytes, next);
    if (code === MARKER.huffman) this.#addTables(segment);
    else if (code === MARKER.quantization) this.#addQuantizations(segment);
    else if (code === RESTART_INTERVAL) this.#interval = (segment[0]! << 8) | segment[1]!;
    else if (code === ADOBE && textOf(segment, 5) === "Adobe") this.#adobe = segment[11];
    else if (code === JFIF && textOf(segment, 4) === "JFIF") this.#isJfif = true;
    else if (code >= MARKER.frame && code < RESTARTS) this.#addFrame(code, segment);
    else if ((code < JFIF || code > 0xef) && code !== COMMENT) throw new Error("Corrupt JPEG data: an unknown marker");
    return next;
  }

  #addFrame(code: number, segment: Uint8Array): void {
    if (code !== MARKER.frame && code !== EXTENDED_FRAME && code !== MARKER.progressiveFrame)
      throw new Error(`JPEG process SOF${code - MARKER.frame} is not supported`);
    if (this.#frame !== undefined) throw new Error("Corrupt JPEG data: two frame headers");
    const height = (segment[1]! << 8) | segment[2]!;
    const width = (segment[3]! << 8) | segment[4]!;
    checkImageSize(width, height);
    if (width * height > this.#bytes.length * PIXELS_PER_BYTE + SMALL_PIXELS) throw new Error("JPEG ends too early");
    this.#frame = readJpegFrame(segment, code === MARKER.progressiveFrame);
  }

  #addTables(segment: Uint8Array): void {
    for (let at = 0; at < segment.length; ) {
      const [kind, counts] = [segment[at]!, segment.subarray(at + 1, at + 17)];
      const end = at + 17 + counts.reduce((sum, count) => sum + count, 0);
      const symbols = segment.subarray(at + 17, end);
      const isBogus = end > segment.length || (kind & 0xec) !== 0 || (kind < 4 && symbols.some((size) => size > 15));
      if (isBogus) throw new Error("Corrupt JPEG data: bad Huffman table");
      this.#tables.set(kind, createHuffmanTable(counts, symbols));
      at = end;
    }
  }

  #addQuantizations(segment: Uint8Array): void {
    if (this.#scans > 0) throw new Error("JPEG of several quantizations is not supported");
    for (let at = 0; at < segment.length; ) {
      const [isWide, id] = [segment[at]! >> 4 === 1, segment[at]! & 15];
      const steps = new Uint16Array(64);
      at++;
      for (const place of DIAGONALS) {
        steps[place] = isWide ? (segment[at]! << 8) | segment[at + 1]! : segment[at]!;
        at += isWide ? 2 : 1;
      }
      this.quantizations.set(id, steps);
    }
  }

  #scanOf(segment: Uint8Array): JpegScan {
    const [count = 0] = segment;
    if (++this.#scans > MAX_SCANS) throw new Error("JPEG of too many scans");
    if (segment.length !== 4 + 2 * count) throw new Error("Corrupt JPEG data: a scan header of another length");
    const parts = Array.from({ length: count }, (_, index) => {
      const [id, tables] = [segment[1 + 2 * index]!, segment[2 + 2 * index]!];
      const component = this.frame.components.find((each) => each.id === id);
      if (component === undefined) throw new Error("Corrupt JPEG data: a scan of no component");
      return { component, dc: this.#tables.get(tables >> 4), ac: this.#tables.get(0x10 | (tables & 15)) };
    });
    const [first = 0, last = 0, bits = 0] = segment.subarray(1 + 2 * count);
    const scan = { parts, first, last, high: bits >> 4, low: bits & 15, interval: this.#interval };
    checkJpegScan(scan, this.frame);
    return scan;
  }
}

function textOf(segment: Uint8Array, length: number): string {
  return String.fromCharCode(...segment.subarray(0, length));
}
