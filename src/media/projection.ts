/** A place in an image, in pixels from its left upper corner. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Four corners, clockwise from the left upper one. */
export type Corners = readonly [Point, Point, Point, Point];

/**
 * The projection that maps the four corners of `from` to those of `to`; undefined
 * where the corners of `from` lie on one line.
 */
export function projectionBetween(from: Corners, to: Corners): Projection | undefined {
  const rows = from.flatMap(({ x, y }, index) => {
    const { x: u, y: v } = to[index]!;
    return [
      [x, y, 1, 0, 0, 0, -u * x, -u * y, u],
      [0, 0, 0, x, y, 1, -v * x, -v * y, v],
    ];
  });
  const solved = solve(rows);
  return solved === undefined ? undefined : ([...solved, 1] as unknown as Projection);
}

/** Solves linear equations, each row's last number being its right side, by Gauss-Jordan elimination with pivots. */
function solve(rows: number[][]): number[] | undefined {
  const size = rows.length;
  for (let column = 0; column < size; column++) {
    const pivot = pivotRow(rows, column);
    const head = rows[pivot]!;
    if (!(Math.abs(head[column]!) > 1e-12)) return undefined;
    [rows[pivot], rows[column]] = [rows[column]!, head];
    for (const [index, row] of rows.entries()) {
      const factor = index === column ? 0 : row[column]! / head[column]!;
      if (factor === 0) continue;
      for (let at = column; at <= size; at++) row[at] = row[at]! - factor * head[at]!;
    }
  }
  return rows.map((row, index) => row[size]! / row[index]!);
}

function pivotRow(rows: readonly number[][], column: number): number {
  let best = column;
  const sizeAt = (row: number) => Math.abs(rows[row]?.[column] ?? 0);
  for (let row = column + 1; row < rows.length; row++) if (sizeAt(row) > sizeAt(best)) best = row;
  return best;
}

/**
 * Nine coefficients, by rows, of a map from target to source coordinates:
 * `x = (a u + b v + c) / (g u + h v + i)`, likewise `y`.
 */
type Projection = readonly [number, number, number, number, number, number, number, number, number];

/** Pixels, channels next to one another, rows from the top. */
interface Raster {
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
  readonly channels: number;
}

/**
 * Draws the part of an image that a projection points at: bilinear, pixel centers at whole coordinates, edges repeated,
 * as OpenCV's warpPerspective does with INTER_LINEAR and BORDER_REPLICATE.
 */
export function warp(source: Raster, projection: Projection, width: number, height: number): Uint8Array {
  const { channels } = source;
  const target = new Uint8Array(width * height * channels);
  const [a, b, c, d, e, f, g, h, i] = projection;
  for (let v = 0, at = 0; v < height; v++) {
    for (let u = 0; u < width; u++, at += channels) {
      const scale = 1 / (g * u + h * v + i);
      sample(source, (a * u + b * v + c) * scale, (d * u + e * v + f) * scale, { target, at });
    }
  }
  return target;
}

interface Place {
  readonly target: Uint8Array;
  readonly at: number;
}

function sample({ data, width, height, channels }: Raster, x: number, y: number, { target, at }: Place): void {
  const left = Math.floor(x);
  const top = Math.floor(y);
  const [across, down] = [x - left, y - top];
  const [x0, x1] = [clamp(left, width), clamp(left + 1, width)];
  const [y0, y1] = [clamp(top, height) * width, clamp(top + 1, height) * width];
  for (let channel = 0; channel < channels; channel++) {
    const upper = mix(data[(y0 + x0) * channels + channel], data[(y0 + x1) * channels + channel], across);
    const lower = mix(data[(y1 + x0) * channels + channel], data[(y1 + x1) * channels + channel], across);
    target[at + channel] = Math.round(mix(upper, lower, down));
  }
}

function mix(one: number | undefined = 0, other: number | undefined = 0, weight = 0): number {
  return one + (other - one) * weight;
}

function clamp(place: number, size: number): number {
  return Math.min(size - 1, Math.max(0, place));
}
