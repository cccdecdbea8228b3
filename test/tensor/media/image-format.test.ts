import { deflateSync, gzipSync } from "node:zlib";
import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { decodeImage } from "../../../src/tensor/media/decode-image.ts";
import { decodePixels } from "../../../src/tensor/media/decode-pixels.ts";
import { imageFormat } from "../../../src/tensor/media/image-format.ts";

const SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>';
const red = () => sharp({ create: { width: 4, height: 4, channels: 3, background: "red" } });
const text = (...parts: string[]) => Buffer.from(parts.join(""), "latin1");
const fileType = (major: string, ...compatible: string[]) =>
  text(
    "\0\0\0",
    String.fromCharCode(16 + 4 * compatible.length),
    "ftyp",
    major,
    "\0\0\0\0",
    ...compatible,
    "\0".repeat(40),
  );

const REFUSED: Readonly<Record<string, Buffer>> = {
  SVG: Buffer.from(SVG),
  "SVG after white space": Buffer.from(`\n \t${SVG}`),
  "SVG after a comment": Buffer.from(`<!-- GIF89a -->${SVG}`),
  "SVG after an XML declaration": Buffer.from(`<?xml version="1.0"?><!DOCTYPE svg>${SVG}`),
  "SVG after a byte order mark": Buffer.from(`\ufeff${SVG}`),
  "SVG as UTF-16": Buffer.from(`\ufeff${SVG}`, "utf16le"),
  "compressed SVG": gzipSync(SVG),
  "SVG as zlib data": deflateSync(SVG),
  PDF: Buffer.from("%PDF-1.7\n1 0 obj <</Type/Catalog>> endobj"),
  PostScript: Buffer.from("%!PS-Adobe-3.0 EPSF-3.0\n"),
  "a BMP without its second header": text("BM\x46\0\0\0\0\0\0\0\x36\0\0\0"),
  HEIC: fileType("heic", "mif1", "heic"),
  "HEIC of a generic brand": fileType("mif1", "heic", "mif1"),
  "a film": fileType("isom", "iso2", "avc1"),
  "JPEG XL": text("\xff\x0a\xfa\x1f"),
  "JPEG XL in a container": text("\0\0\0\x0cJXL \r\n\x87\n"),
  "JPEG 2000": text("\0\0\0\x0cjP  \r\n\x87\n"),
  "JPEG XS": text("\xff\x10\xff\x50"),
  Photoshop: text("8BPS\0\x01\0\0\0\0\0\0"),
  OpenEXR: text("v/1\x01\x02\0\0\0"),
  Radiance: Buffer.from("#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n"),
  "a portable float map": Buffer.from("PF\n1 1\n-1.0\nabcdabcdabcd"),
  "an icon": text("\0\0\x01\0\x01\0\x10\x10\0\0"),
  BigTIFF: text("II+\0\x08\0\0\0\x10\0\0\0"),
  "a raw photo of Canon": text("II*\0\x10\0\0\0CR\x02\0"),
  "a raw photo of Olympus": text("IIRO\x08\0\0\0"),
  "a raw photo of Fuji": Buffer.from("FUJIFILMCCD-RAW 0201"),
  "a sound": text("RIFF\x24\0\0\0WAVEfmt "),
  "an animated PNG's cousin MNG": text("\x8aMNG\r\n\x1a\n"),
  "PNG that lost its eighth bit": text("\tPNG\r\n\x1a\n"),
  "PNG without a header chunk": text("\x89PNG\r\n\x1a\n\0\0\0\x0dgAMA"),
  "GIF of no version": Buffer.from("GIF88a"),
  "an empty file": Buffer.alloc(0),
  "one byte": Buffer.from([0xff]),
};

describe("imageFormat", () => {
  it.each(["jpeg", "png", "webp", "gif", "tiff", "avif"] as const)("knows %s by its first bytes", async (format) => {
    expect(imageFormat(await red().toFormat(format).toBuffer())).toBe(format);
  });

  it("knows lossless WebP, big-endian TIFF and AVIF of a generic brand", async () => {
    expect(imageFormat(await red().webp({ lossless: true }).toBuffer())).toBe("webp");
    expect(imageFormat(text("MM\0*\0\0\0\x08\0\0"))).toBe("tiff");
    expect(imageFormat(fileType("mif1", "avif", "miaf"))).toBe("avif");
    expect(imageFormat(fileType("avis", "avif", "msf1"))).toBe("avif");
  });

  it.each(Object.keys(REFUSED))("refuses %s, in hooks and for models", async (name) => {
    const bytes = REFUSED[name] as Buffer;
    expect(imageFormat(bytes)).toBeUndefined();
    await expect(decodeImage(bytes)).rejects.toMatchObject({ code: "invalid_argument" });
    await expect(decodePixels(bytes, { exif: false })).rejects.toMatchObject({ code: "invalid_argument" });
  });

  it.each([
    ["SVG behind the head of a GIF", Buffer.concat([Buffer.from("GIF89a"), Buffer.from(SVG)])],
    ["SVG behind the head of a WebP", Buffer.concat([text("RIFF\xff\0\0\0WEBPVP8 "), Buffer.from(SVG)])],
    ["SVG behind the head of a TIFF", Buffer.concat([text("II*\0\x08\0\0\0"), Buffer.from(SVG)])],
    ["HEIC that says AVIF", Buffer.concat([fileType("avif", "mif1"), Buffer.from(SVG)])],
  ])("refuses %s", async (_, bytes) => {
    await expect(decodeImage(bytes)).rejects.toMatchObject({ code: "invalid_argument" });
    await expect(decodePixels(bytes, { exif: false })).rejects.toMatchObject({ code: "invalid_argument" });
  });

  it("takes what lies behind an image as no part of it", async () => {
    const png = await red().png().toBuffer();
    const image = await decodeImage(Buffer.concat([png, Buffer.from(SVG), gzipSync(SVG)]));
    expect(image.shape).toEqual([4, 4, 3]);
  });
});
