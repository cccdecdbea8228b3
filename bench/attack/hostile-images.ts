import { crc32, deflateSync } from "node:zlib";
import sharp from "sharp";
import { repeated } from "./protobuf.ts";

const SOF_MARKERS = [0xc0, 0xc2];
const WIDE = 9000;
/** Just within 100 million pixels. */
const WIDEST = 9999;

/** Encoded images that cost more than their bytes, by what they are. */
export const HOSTILE_IMAGES: Readonly<
  Record<string, { readonly copies: number; readonly make: () => Buffer | Promise<Buffer> }>
> = {
  gif: { copies: 8, make: () => emptyGif(WIDE, WIDE) },
  png: {
    copies: 12,
    make: () => png(WIDEST, WIDEST, deflateSync(Buffer.alloc((WIDEST * 3 + 1) * WIDEST), { level: 1 })),
  },
  "png-empty": { copies: 12, make: () => png(WIDEST, WIDEST, deflateSync(Buffer.alloc(0))) },
  "png-text": { copies: 8, make: () => png(8, 8, deflateSync(Buffer.alloc(25 * 8)), [["zTXt", textBomb()]]) },
  "png-profile": { copies: 8, make: () => png(8, 8, deflateSync(Buffer.alloc(25 * 8)), [["iCCP", textBomb()]]) },
  "jpeg-empty": { copies: 8, make: () => claimJpeg(false) },
  "jpeg-progressive": { copies: 8, make: () => claimJpeg(true) },
  jpeg: { copies: 8, make: () => canvas(WIDE).jpeg().toBuffer() },
  webp: { copies: 8, make: () => canvas(WIDE).webp({ effort: 0 }).toBuffer() },
  tiff: { copies: 8, make: () => canvas(WIDE).tiff({ compression: "deflate" }).toBuffer() },
  avif: { copies: 8, make: () => canvas(3000).avif({ effort: 0 }).toBuffer() },
  svg: { copies: 8, make: () => Buffer.from(svg()) },
  "svg-disguised": { copies: 8, make: () => Buffer.from(`\ufeff \n<!-- ${"-".repeat(100)}x -->\n${svg()}`) },
  "svg-utf16": { copies: 8, make: () => Buffer.from(`\ufeff${svg()}`, "utf16le") },
};

function canvas(side: number) {
  return sharp({ create: { width: side, height: side, channels: 3, background: "#204060" }, limitInputPixels: false });
}

/** 35 bytes: one pixel that claims to be many. */
function emptyGif(width: number, height: number): Buffer {
  const gif = Buffer.from("R0lGODlhAQABAIAAAP///wAAACwAAAAAAQABAAACAkQBADs=", "base64");
  for (const at of [6, 24]) {
    gif.writeUInt16LE(width, at);
    gif.writeUInt16LE(height, at + 2);
  }
  return gif;
}

/** An RGB file of these values, with more chunks before them. */
function png(width: number, height: number, values: Buffer, more: readonly (readonly [string, Buffer])[] = []): Buffer {
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 2, 0, 0, 0]);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  const chunks = [["IHDR", header], ...more, ["IDAT", values], ["IEND", Buffer.alloc(0)]] as const;
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    ...chunks.map(([type, data]) => chunk(type, data)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

/** 300 KB that become 300 MB. */
function textBomb(): Buffer {
  return Buffer.concat([Buffer.from("Comment\0\0"), deflateSync(Buffer.alloc(300_000_000), { level: 1 })]);
}

/** A small JPEG whose header claims 10000 × 9999. */
async function claimJpeg(progressive: boolean): Promise<Buffer> {
  const jpeg = await canvas(16).jpeg({ progressive }).toBuffer();
  for (let at = 2; at < jpeg.length; at += 2 + jpeg.readUInt16BE(at + 2)) {
    if (!SOF_MARKERS.includes(jpeg[at + 1] as number)) continue;
    jpeg.writeUInt16BE(WIDEST, at + 5);
    jpeg.writeUInt16BE(10_000, at + 7);
    return jpeg;
  }
  throw new Error("no frame header found");
}

/** 958 KB of noise to compute. */
function svg(): string {
  const filter = '<filter id="t"><feTurbulence baseFrequency="0.01" numOctaves="10"/></filter>';
  const rectangle = '<rect width="3000" height="3000" filter="url(#t)"/>';
  const rectangles = repeated(rectangle, Math.floor(958_000 / rectangle.length)).toString();
  return `<svg xmlns="http://www.w3.org/2000/svg" width="3000" height="3000">${filter}${rectangles}</svg>`;
}
