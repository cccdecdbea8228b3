/** sharp's names of the formats that are accepted, and ours. SVG is left out: it is a program, not pixels. */
export const ACCEPTED_FORMATS: Readonly<Record<string, string>> = {
  jpeg: "JPEG",
  png: "PNG",
  webp: "WebP",
  gif: "GIF",
  tiff: "TIFF",
  heif: "AVIF",
};

/** What errors say of what is no image. */
export const EXPECTED_FORMATS = `expected ${Object.values(ACCEPTED_FORMATS).join(", ")}`;

/** Formats by how their files begin; `????` are bytes of any value. */
const SIGNATURES: readonly (readonly [format: string, signature: string])[] = [
  ["jpeg", "\xff\xd8\xff"],
  ["png", "\x89PNG\r\n\x1a\n"],
  ["gif", "GIF8"],
  ["webp", "RIFF????WEBP"],
  ["bmp", "BM????\0\0\0\0"],
  ["tiff", "II*\0"],
  ["tiff", "MM\0*"],
  ["avif", "????ftypavif"],
];
const HEAD_BYTES = 16;

/** The format of an encoded image by its first bytes, without decoding anything; undefined for what is none. */
export function imageFormat(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, HEAD_BYTES)).toString("latin1");
  return SIGNATURES.find(([, signature]) => begins(head, signature))?.[0];
}

function begins(head: string, signature: string): boolean {
  if (head.length < signature.length) return false;
  for (let index = 0; index < signature.length; index++) {
    if (signature[index] !== "?" && signature[index] !== head[index]) return false;
  }
  return true;
}
