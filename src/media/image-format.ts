/** The formats that are decoded, by the names that errors and documents use. */
export const FORMAT_NAMES = {
  jpeg: "JPEG",
  png: "PNG",
  webp: "WebP",
  gif: "GIF",
  tiff: "TIFF",
  avif: "AVIF",
} as const;
/** A key of {@link FORMAT_NAMES}. */
export type ImageFormat = keyof typeof FORMAT_NAMES;

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
  const found = SIGNATURES.find(([, signature]) => begins(head, signature))?.[0];
  return found === "tiff" && begins(head, RAW_PHOTO) ? undefined : found;
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
