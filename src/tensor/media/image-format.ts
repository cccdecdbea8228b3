import type { Metadata } from "sharp";
import type { PlainImage } from "./plain-image.ts";

/** The formats that are decoded, by the names that errors and documents use. */
export const FORMAT_NAMES = {
  jpeg: "JPEG",
  png: "PNG",
  webp: "WebP",
  gif: "GIF",
  tiff: "TIFF",
  avif: "AVIF",
  bmp: "BMP",
  pnm: "PNM",
} as const;
/** A key of {@link FORMAT_NAMES}. */
export type ImageFormat = keyof typeof FORMAT_NAMES;

const MEDIA_TYPES: Readonly<Partial<Record<ImageFormat, string>>> = { pnm: "image/x-portable-anymap" };

/** The media type of an encoded image, by its first bytes as {@link imageFormat} has them. */
export function imageType(bytes: Uint8Array): string | undefined {
  const format = imageFormat(bytes);
  return format && (MEDIA_TYPES[format] ?? `image/${format}`);
}

/** The end of an error about bytes that are not such an image. */
export const EXPECTED_FORMATS = `expected ${Object.values(FORMAT_NAMES).join(", ")}`;

/** Formats by how their files begin; `????` are bytes of any value. */
const SIGNATURES: readonly (readonly [format: ImageFormat, signature: string])[] = [
  ["jpeg", "\xff\xd8\xff"],
  ["png", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR"],
  ["gif", "GIF87a"],
  ["gif", "GIF89a"],
  ["webp", "RIFF????WEBPVP8"],
  ["tiff", "II*\0"],
  ["tiff", "MM\0*"],
];
/** Two letters begin a BMP, so that the length of its second header counts too. */
const BITMAP = "BM????\0\0\0\0????";
const BITMAP_HEADERS: readonly number[] = [12, 40, 52, 56, 64, 108, 124];
/** A netpbm image is text up to its pixels: its kind, a space, and a number, a comment, or a word if it is a PAM. */
const NETPBM = /^P(?:[1-6]\s[\s\d#]|7\n[A-Z#])/;
/** Canon's raw photos begin as TIFF does; what libraries find in them is a thumbnail. */
const RAW_PHOTO = "????????CR";
/** ISO/IEC 14496-12 §4.3: a size, `ftyp`, the major brand, a version, then compatible brands. */
const FILE_TYPE = "????ftyp";
const BRANDS_AT = 8;
const BRAND_BYTES = 4;
/** Brands of AV1 image files (AVIF §8); `mif1` and `msf1` alone may hold any codec. */
const AVIF_BRANDS: readonly string[] = ["avif", "avis"];
const GENERIC_BRANDS: readonly string[] = ["mif1", "msf1"];
const HEAD_BYTES = 128;

/**
 * The format of an encoded image by its first bytes, without decoding anything; undefined for everything else: SVG,
 * PDF, HEIC and whatever a library might take. No library sees what has no format here.
 */
export function imageFormat(bytes: Uint8Array): ImageFormat | undefined {
  const head = Buffer.from(bytes.subarray(0, HEAD_BYTES)).toString("latin1");
  if (begins(head, FILE_TYPE)) return isAvif(head) ? "avif" : undefined;
  if (begins(head, BITMAP)) return isBitmap(head) ? "bmp" : undefined;
  if (NETPBM.test(head)) return "pnm";
  const found = SIGNATURES.find(([, signature]) => begins(head, signature))?.[0];
  return found === "tiff" && begins(head, RAW_PHOTO) ? undefined : found;
}

/** Sizes of 16 bits are followed by the number 1, others by further bytes and that number. */
function isBitmap(head: string): boolean {
  const bytes = Buffer.from(head, "latin1");
  if (bytes.length < 28) return false;
  const header = bytes.readUInt32LE(14);
  return BITMAP_HEADERS.includes(header) && bytes.readUInt16LE(header === 12 ? 22 : 26) === 1;
}

/** Formats that OpenCV or a browser shows and that are not decoded here, by how their files begin. */
const OTHERS: readonly (readonly [name: string, signature: string])[] = [
  ["a PFM", "PF\n"],
  ["a PFM", "Pf\n"],
  ["a Radiance HDR", "#?RADIANCE"],
  ["a Radiance HDR", "#?RGBE"],
  ["a Sun raster", "\x59\xa6\x6a\x95"],
  ["an OpenEXR", "\x76\x2f\x31\x01"],
  ["a JPEG 2000", "\0\0\0\x0cjP  "],
  ["a JPEG 2000", "\xff\x4f\xff\x51"],
  ["a JPEG XL", "\0\0\0\x0cJXL "],
  ["a JPEG XL", "\xff\x0a"],
  ["a BigTIFF", "II+\0"],
  ["a BigTIFF", "MM\0+"],
  ["a Photoshop file", "8BPS"],
  ["an icon", "\0\0\x01\0"],
  ["a PDF", "%PDF-"],
  ["an SVG", "<svg"],
  ["an SVG or another document in XML", "<?xml"],
  ["a HEIC", "????ftyphei"],
  ["a HEIC", "????ftypmif1"],
  ["a raw photo", "????????CR"],
];

/** A sentence's part about a known format that is not decoded, with what to do; undefined for unknown bytes. */
export function unsupportedFormat(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, HEAD_BYTES)).toString("latin1");
  const name = OTHERS.find(([, signature]) => begins(head, signature))?.[0];
  return name && `it is ${name}, which is not decoded; convert it to PNG`;
}

function isAvif(head: string): boolean {
  const brands = [...brandsOf(head)];
  const [major = ""] = brands;
  return AVIF_BRANDS.includes(major) || (GENERIC_BRANDS.includes(major) && brands.includes("avif"));
}

/** The major brand, then the compatible ones as far as the box and the head reach. */
function* brandsOf(head: string): Generator<string> {
  const end = Math.min(head.length, Buffer.from(head.slice(0, BRAND_BYTES), "latin1").readUInt32BE());
  yield head.slice(BRANDS_AT, BRANDS_AT + BRAND_BYTES);
  for (let at = BRANDS_AT + 2 * BRAND_BYTES; at + BRAND_BYTES <= end; at += BRAND_BYTES) {
    yield head.slice(at, at + BRAND_BYTES);
  }
}

function begins(head: string, signature: string): boolean {
  if (head.length < signature.length) return false;
  for (let index = 0; index < signature.length; index++) {
    if (signature[index] !== "?" && signature[index] !== head[index]) return false;
  }
  return true;
}

/**
 * Opens an image in a format that libvips does not read: its header is read, and all of its pixels are there. Undefined
 * for other formats; throws for a damaged image. The code is imported with the first such image.
 */
export async function openPlainImage(bytes: Uint8Array, format: ImageFormat): Promise<PlainImage | undefined> {
  if (format === "bmp") return (await import("./bmp.ts")).openBmp(bytes);
  if (format === "pnm") return (await import("./pnm.ts")).openPnm(bytes);
  return undefined;
}

/** Checks that the library, which detects the format itself, agrees with the first bytes. */
export function isFormat({ format, compression }: Metadata, expected: ImageFormat): boolean {
  if (expected === "avif") return format === "heif" && compression === "av1";
  return format === expected;
}
