import { invalidArgument } from "../errors.ts";
import type { Corners, Point } from "./projection.ts";

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
