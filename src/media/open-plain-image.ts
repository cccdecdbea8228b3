import type { ImageFormat } from "./image-format.ts";
import type { PlainImage } from "./plain-image.ts";

/**
 * Opens an image in a format that libvips does not read: its header is read, and all of its pixels are there. Undefined
 * for other formats; throws for a damaged image. The code is imported with the first such image.
 */
export async function openPlainImage(bytes: Uint8Array, format: ImageFormat): Promise<PlainImage | undefined> {
  if (format === "bmp") return (await import("./bmp.ts")).openBmp(bytes);
  if (format === "pnm") return (await import("./pnm.ts")).openPnm(bytes);
  return undefined;
}
