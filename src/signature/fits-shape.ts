import type { Dimension } from "./signature.ts";

/** Checks that a tensor's shape is one that a spec's shape allows. */
export function fitsShape(shape: readonly number[], allowed: readonly Dimension[]): boolean {
  return shape.length === allowed.length && allowed.every((size, axis) => fitsDimension(shape[axis]!, size));
}

/** Checks that a size is one that a spec's dimension allows. */
export function fitsDimension(size: number, allowed: Dimension): boolean {
  if (typeof allowed === "number") return allowed === -1 || size === allowed;
  return size >= allowed.min && size <= allowed.max;
}
