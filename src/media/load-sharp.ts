import type { Sharp as Pipeline, SharpOptions } from "sharp";
import { lostPackage } from "../lost-package.ts";
import { imageFormat } from "./image-format.ts";

type Sharp = typeof import("sharp").default;

let loading: Promise<Sharp> | undefined;

/**
 * Imports sharp on first use: a thread whose hooks touch no image starts in half the time without it. Each further
 * import() would still cost as much as a small image.
 */
export function loadSharp(): Promise<Sharp> {
  loading ??= import("sharp").then(
    ({ default: sharp }) => {
      // Requests have nothing in common that a cache could hold, and images are decoded side by side already.
      sharp.cache(false);
      sharp.concurrency(1);
      return sharp;
    },
    (reason) => {
      throw lostPackage(reason) ?? reason;
    },
  );
  return loading;
}

/** Starts a pipeline on an encoded image. What is damaged fails, but not a TIFF with oddities, as OpenCV writes it. */
export async function openEncoded(bytes: Uint8Array, options: SharpOptions): Promise<Pipeline> {
  const sharp = await loadSharp();
  return sharp(bytes, { failOn: imageFormat(bytes) === "tiff" ? "error" : "warning", ...options });
}
