import type { PngFile } from "./png-file.ts";

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

/** The samples of all pixels as the file has them, in numbers of its depth. Throws an Error where rows are missing. */
export function readPngSamples(file: PngFile): Uint8Array | Uint16Array {
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
