import type { Dimension } from "../../../signature/signature.ts";
import { toDimension } from "../to-dimension.ts";

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
