import type { Dimension } from "../../tensor/signature/signature.ts";

/** Bounds from here on are those of a type, if a model has none. */
const UNBOUNDED = 2 ** 31 - 1;

/**
 * Reads a shape as OpenVINO writes it: `[1,?,2..8,4..]`; undefined for any rank, `[...]`. A dimension without an upper
 * bound takes any size.
 */
export function parseShape(text: string): Dimension[] | undefined {
  const inner = text.replace(/^\[|\]$/g, "");
  if (inner === "...") return undefined;
  return inner === "" ? [] : inner.split(",").map(parseDimension);
}

function parseDimension(text: string): Dimension {
  const [min = "", max = ""] = text.split("..");
  if (/^\d+$/.test(text)) return Number(text);
  return toDimension(Number(min), max === "" ? -1 : Number(max));
}

/** The same the other way round. */
export function formatShape(shape: readonly Dimension[]): string {
  const parts = shape.map((dimension) => {
    if (typeof dimension !== "number") return `${dimension.min}..${dimension.max}`;
    return dimension < 0 ? "?" : String(dimension);
  });
  return `[${parts.join(",")}]`;
}

/** A dimension between two bounds, -1 = none. Without an upper bound, requests may have any size. */
export function toDimension(min: number, max: number): Dimension {
  if (max === -1 || max >= UNBOUNDED) return -1;
  return min === max ? min : { min, max };
}
