import type { Projection } from "./warp.ts";

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
