import type { Metadata } from "sharp";
import type { ImageFormat } from "./image-format.ts";

/** Tells whether the library, which finds the format by itself, came to the same as the first bytes. */
export function isFormat({ format, compression }: Metadata, expected: ImageFormat): boolean {
  if (expected === "avif") return format === "heif" && compression === "av1";
  return format === expected;
}
