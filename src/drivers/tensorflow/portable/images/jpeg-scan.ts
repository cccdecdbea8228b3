import { EntropyReader, type HuffmanTable } from "./entropy-reader.ts";
import { BLOCK, type JpegComponent, type JpegFrame } from "./jpeg-frame.ts";

/** Places of coefficients: they are stored along the diagonals. */
export const DIAGONALS: Uint8Array = diagonals();

/** One pass over some components, with the band of coefficients and the bits of them that it brings. */
export interface JpegScan {
  readonly parts: readonly JpegScanPart[];
  readonly first: number;
  readonly last: number;
  /** Bits known before, 0 in the first pass; bits left for later passes. */
  readonly high: number;
  readonly low: number;
  /** Units between two restart markers; 0 = none. */
  readonly interval: number;
}

/** A component with its tables. */
interface JpegScanPart {
  readonly component: JpegComponent;
  readonly dc: HuffmanTable | undefined;
  readonly ac: HuffmanTable | undefined;
}

/** Blocks of all components that may lie together. */
const MAX_UNIT_BLOCKS = 10;

/** Throws an Error for a scan that cannot be. */
export function checkJpegScan({ parts, first, last, high, low }: JpegScan, { isProgressive }: JpegFrame): void {
  const isBand = first === 0 ? last === 0 : parts.length === 1 && first <= last && last < 64;
  const isPass = low <= 13 && (high === 0 || low === high - 1);
  const components = new Set(parts.map(({ component }) => component));
  const blocks = [...components].reduce((sum, { across, down }) => sum + across * down, 0);
  const isUnit = parts.length === 1 || blocks <= MAX_UNIT_BLOCKS;
  const isScan = parts.length > 0 && components.size === parts.length && isUnit;
  if (!isScan || (isProgressive && !(isBand && isPass))) throw new Error("Corrupt JPEG data: an impossible scan");
}

/**
 * Reads a scan's coefficients into the frame's components and returns the next marker's position. Throws an Error for
 * damaged data.
 */
export function readJpegScan(frame: JpegFrame, scan: JpegScan, bytes: Uint8Array, at: number): number {
  const reader = new EntropyReader(bytes, at);
  const decoders = scan.parts.map((part) => new BlockDecoder(part, scan, reader));
  const read = chooseRead(frame.isProgressive, scan);
  let units = 0;
  for (const unit of unitsOf(frame, scan)) {
    if (scan.interval > 0 && units > 0 && units % scan.interval === 0) {
      reader.restart();
      for (const decoder of decoders) decoder.reset();
    }
    units++;
    for (const [part, place] of unit) decoders[part]![read](place);
  }
  return reader.position;
}

type Read = "baseline" | "firstDc" | "refineDc" | "firstAc" | "refineAc";

function chooseRead(isProgressive: boolean, { first, high }: JpegScan): Read {
  if (!isProgressive) return "baseline";
  if (first === 0) return high === 0 ? "firstDc" : "refineDc";
  return high === 0 ? "firstAc" : "refineAc";
}

/** The blocks that lie together: with several components some of each, else one. */
function* unitsOf(frame: JpegFrame, { parts }: JpegScan): Generator<[part: number, place: number][]> {
  const [alone] = parts as [JpegScanPart];
  if (parts.length === 1) {
    const { width, height, blocksAcross } = alone.component;
    for (let row = 0; row < Math.ceil(height / BLOCK); row++)
      for (let column = 0; column < Math.ceil(width / BLOCK); column++) yield [[0, row * blocksAcross + column]];
    return;
  }
  const units = Math.ceil(frame.width / (BLOCK * frame.mostAcross));
  const lines = Math.ceil(frame.height / (BLOCK * frame.mostDown));
  for (let line = 0; line < lines; line++)
    for (let unit = 0; unit < units; unit++)
      yield parts.flatMap((part, index) => blocksOf(part, index, { line, unit }));
}

function blocksOf(
  { component: { across, down, blocksAcross } }: JpegScanPart,
  part: number,
  { line, unit }: { readonly line: number; readonly unit: number },
): [part: number, place: number][] {
  return Array.from({ length: across * down }, (_, index) => {
    const row = line * down + Math.floor(index / across);
    return [part, row * blocksAcross + unit * across + (index % across)];
  });
}

/** Reads one component's blocks. */
class BlockDecoder {
  readonly #coefficients: Int16Array;
  readonly #reader: EntropyReader;
  readonly #scan: JpegScan;
  readonly #part: JpegScanPart;
  #dc = 0;
  /** Blocks without further coefficients. */
  #emptyBlocks = 0;

  constructor(part: JpegScanPart, scan: JpegScan, reader: EntropyReader) {
    this.#coefficients = part.component.coefficients;
    [this.#part, this.#scan, this.#reader] = [part, scan, reader];
  }

  reset(): void {
    [this.#dc, this.#emptyBlocks] = [0, 0];
  }

  baseline(place: number): void {
    this.#coefficients[place * 64] = this.#nextDc();
    for (let at = 1; at < 64; at++) {
      const symbol = this.#reader.symbol(this.#acTable);
      const [zeros, size] = [symbol >> 4, symbol & 15];
      if (size === 0 && zeros < 15) return;
      at += zeros;
      if (size > 0) this.#set(place, at, this.#reader.signed(size));
    }
  }

  firstDc(place: number): void {
    this.#coefficients[place * 64] = this.#nextDc() << this.#scan.low;
  }

  refineDc(place: number): void {
    const at = place * 64;
    this.#coefficients[at] = this.#coefficients[at]! | (this.#reader.bits(1) << this.#scan.low);
  }

  firstAc(place: number): void {
    if (this.#emptyBlocks > 0) {
      this.#emptyBlocks--;
      return;
    }
    const { first, last, low } = this.#scan;
    for (let at = first; at <= last; at++) {
      const symbol = this.#reader.symbol(this.#acTable);
      const [zeros, size] = [symbol >> 4, symbol & 15];
      if (size === 0 && zeros < 15) {
        this.#emptyBlocks = (1 << zeros) - 1 + this.#reader.bits(zeros);
        return;
      }
      at += zeros;
      if (size > 0) this.#set(place, at, this.#reader.signed(size) << low);
    }
  }

  refineAc(place: number): void {
    const { first, last, low } = this.#scan;
    let at = first;
    while (this.#emptyBlocks === 0 && at <= last) {
      const symbol = this.#reader.symbol(this.#acTable);
      const [zeros, size] = [symbol >> 4, symbol & 15];
      if (size === 0 && zeros < 15) {
        this.#emptyBlocks = (1 << zeros) + this.#reader.bits(zeros);
        break;
      }
      const value = size === 0 ? 0 : (this.#reader.bits(1) === 1 ? 1 : -1) << low;
      at = this.#refine(place, at, zeros);
      if (value !== 0) this.#set(place, at, value);
      at++;
    }
    if (this.#emptyBlocks === 0) return;
    this.#refine(place, at, 64);
    this.#emptyBlocks--;
  }

  /** Adds a bit to each coefficient that is not 0, up to so many zeros further; returns the last one's place. */
  #refine(place: number, from: number, zeros: number): number {
    const { last, low } = this.#scan;
    let at = from;
    for (let left = zeros; at <= last; at++) {
      const index = place * 64 + DIAGONALS[at]!;
      const value = this.#coefficients[index]!;
      if (value === 0 && --left < 0) return at;
      if (value === 0 || this.#reader.bits(1) === 0 || (value & (1 << low)) !== 0) continue;
      this.#coefficients[index] = value + ((value > 0 ? 1 : -1) << low);
    }
    return at;
  }

  #nextDc(): number {
    if (this.#part.dc === undefined) throw new Error("Corrupt JPEG data: a Huffman table was not defined");
    this.#dc += this.#reader.signed(this.#reader.symbol(this.#part.dc));
    return this.#dc;
  }

  get #acTable(): HuffmanTable {
    if (this.#part.ac === undefined) throw new Error("Corrupt JPEG data: a Huffman table was not defined");
    return this.#part.ac;
  }

  #set(place: number, at: number, value: number): void {
    if (at > 63) throw new Error("Corrupt JPEG data: too many coefficients");
    this.#coefficients[place * 64 + DIAGONALS[at]!] = value;
  }
}

function diagonals(): Uint8Array {
  const places = Array.from({ length: 64 }, (_, place) => [place >> 3, place & 7] as const);
  const order = ([row, column]: readonly [number, number]) => {
    const line = row + column;
    return line * 8 + (line % 2 === 0 ? column : row);
  };
  return Uint8Array.from(places.sort((a, b) => order(a) - order(b)).map(([row, column]) => row * 8 + column));
}
