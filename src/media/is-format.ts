import type { Metadata } from "sharp";
import type { ImageFormat } from "./image-format.ts";

/** Checks that the library, which detects the format itself, agrees with the first bytes. */
export function isFormat({ format, compression }: Metadata, expected: ImageFormat): boolean {
  if (expected === "avif") return format === "heif" && compression === "av1";
  return format === expected;
}
