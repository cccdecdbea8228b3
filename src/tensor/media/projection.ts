import { invalidArgument } from "../../errors.ts";

/** A place in an image, in pixels from its left upper corner. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Four corners, clockwise from the left upper one. */
export type Corners = readonly [Point, Point, Point, Point];

/**
 * The projection that maps the four corners of `from` to those of `to`; undefined
 * if the corners of `from` lie on one line.
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

/** A rectangle in any direction, in pixels. */
export interface RotatedBox {
  readonly centerX: number;
  readonly centerY: number;
  readonly width: number;
  readonly height: number;
  /** Clockwise angle, in degrees; 0 = upright. */
  readonly angle: number;
}

/**
 * The corners of a rotated box, clockwise from its own left upper one, as cropQuad takes them. Throws
 * `invalid_argument` for members that are not finite numbers.
 */
export function boxCorners({ centerX, centerY, width, height, angle }: RotatedBox): Corners {
  if (![centerX, centerY, width, height, angle].every(Number.isFinite)) {
    throw invalidArgument(
      "A rotated box has members that are not finite numbers; expected centerX, centerY, width, height and angle.",
    );
  }
  const radians = (angle * Math.PI) / 180;
  const [cos, sin] = [Math.cos(radians), Math.sin(radians)];
  const corner = (x: number, y: number): Point => ({ x: centerX + x * cos - y * sin, y: centerY + x * sin + y * cos });
  const [right, bottom] = [width / 2, height / 2];
  return [corner(-right, -bottom), corner(right, -bottom), corner(right, bottom), corner(-right, bottom)];
}

/**
 * The rotated box of the least area around points, such as the pixels of a text line
 * that a detector found. Its angle is above -45 and at most 45 degrees. Throws
 * `invalid_argument` for no points, and for points that are not finite numbers.
 */
export function minAreaBox(points: readonly Point[]): RotatedBox {
  if (points.length === 0 || !points.every(({ x, y }) => Number.isFinite(x) && Number.isFinite(y))) {
    throw invalidArgument(
      "minAreaBox got no points, or points that are not finite numbers; expected at least one point { x, y }.",
    );
  }
  const hull = convexHull(points);
  let best: RotatedBox | undefined;
  for (const [index, from] of hull.entries()) {
    const to = hull[(index + 1) % hull.length]!;
    const box = boxAlong(hull, Math.atan2(to.y - from.y, to.x - from.x));
    if (best === undefined || box.width * box.height < best.width * best.height) best = box;
  }
  return upright(best as RotatedBox);
}

/** The box around points whose upper side has this direction, in radians. */
function boxAlong(points: readonly Point[], direction: number): RotatedBox {
  const [cos, sin] = [Math.cos(direction), Math.sin(direction)];
  const along = points.map(({ x, y }) => x * cos + y * sin);
  const across = points.map(({ x, y }) => y * cos - x * sin);
  const [left, right] = [Math.min(...along), Math.max(...along)];
  const [top, bottom] = [Math.min(...across), Math.max(...across)];
  const [x, y] = [(left + right) / 2, (top + bottom) / 2];
  return {
    centerX: x * cos - y * sin,
    centerY: x * sin + y * cos,
    width: right - left,
    height: bottom - top,
    angle: (direction * 180) / Math.PI,
  };
}

/** The same rectangle, turned by quarters to an angle near 0. */
function upright(box: RotatedBox): RotatedBox {
  const quarters = Math.ceil(box.angle / 90 - 0.5);
  const { width, height } = box;
  const isTurned = quarters % 2 !== 0;
  return {
    ...box,
    angle: box.angle - 90 * quarters,
    ...(isTurned && { width: height, height: width }),
  };
}

/** Andrew's monotone chain. */
function convexHull(points: readonly Point[]): Point[] {
  const sorted = [...points].sort((a, b) => a.x - b.x || a.y - b.y);
  const lower = halfHull(sorted);
  const upper = halfHull(sorted.reverse());
  const hull = [...lower.slice(0, -1), ...upper.slice(0, -1)];
  return hull.length === 0 ? lower.slice(0, 1) : hull;
}

function halfHull(points: readonly Point[]): Point[] {
  const hull: Point[] = [];
  for (const point of points) {
    while (hull.length >= 2 && !turnsLeft(hull.at(-2)!, hull.at(-1)!, point)) hull.pop();
    hull.push(point);
  }
  return hull;
}

function turnsLeft(one: Point, two: Point, three: Point): boolean {
  return (two.x - one.x) * (three.y - one.y) - (two.y - one.y) * (three.x - one.x) > 0;
}
