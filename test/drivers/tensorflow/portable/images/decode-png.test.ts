import { crc32, deflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { decodePng } from "../../../../../src/drivers/tensorflow/portable/images/decode-png.ts";
import { readCases } from "../../tensorflow-cases.ts";

// portable/equality.test.ts compares their pixels with TensorFlow's.
const IMAGES = readCases("decode_pngs").map(({ inputs }) => inputs.png?.data[0] as Uint8Array);
const OWN = { channels: 0, bits: 8 } as const;

function chunk(type: string, data: Uint8Array): Uint8Array {
  const framed = Buffer.alloc(data.length + 12);
  framed.writeUInt32BE(data.length);
  framed.write(type, 4, "latin1");
  framed.set(data, 8);
  framed.writeUInt32BE(crc32(framed.subarray(4, -4)), data.length + 8);
  return framed;
}

/** A PNG of 8-bit colours with these rows, and with further chunks before them. */
function png(width: number, height: number, rows: readonly number[], ...more: readonly Uint8Array[]): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width);
  header.writeUInt32BE(height, 4);
  header.set([8, 2], 8);
  const signature = Buffer.from("89504e470d0a1a0a", "hex");
  const data = chunk("IDAT", deflateSync(Uint8Array.from(rows)));
  return Buffer.concat([signature, chunk("IHDR", header), ...more, data, chunk("IEND", new Uint8Array())]);
}

describe("decodePng", () => {
  it("refuses an image that ends early, wherever that is", () => {
    for (const image of IMAGES.slice(0, 6)) {
      for (let length = 8; length < image.length; length++)
        expect(() => decodePng(image.subarray(0, length), OWN), `${length} bytes`).toThrow("PNG ends too early");
    }
  });

  it("refuses a size that its bytes cannot hold, without making room for it", () => {
    expect(() => decodePng(png(9000, 9000, [0]), OWN)).toThrow("PNG with too few rows");
  });

  it("reads a file of a hundred thousand chunks", () => {
    const empty = chunk("IDAT", new Uint8Array());
    const more = Buffer.concat(Array.from({ length: 100_000 }, () => empty));
    expect(decodePng(png(1, 1, [0, 1, 2, 3], more), OWN).data).toEqual(Uint8Array.of(1, 2, 3));
  });

  it("refuses a changed byte by its chunk's checksum", () => {
    const changed = IMAGES[0]?.slice() as Uint8Array;
    changed[20] = (changed[20] as number) ^ 1;
    expect(() => decodePng(changed, OWN)).toThrow("wrong checksum");
  });

  it.each([
    ["too few rows", png(2, 2, [0, 1, 2, 3, 4, 5, 6]), "too few rows"],
    ["an unknown filter", png(1, 1, [9, 1, 2, 3]), "unknown filter"],
    ["a size of 0", png(0, 1, [0]), "impossible header"],
    ["more pixels than fit into memory", png(1e5, 1e5, [0]), "too large"],
    ["data that grows without end", png(1, 1, new Array(1e5).fill(0)), "damaged data"],
  ])("refuses %s", (_, image, message) => {
    expect(() => decodePng(image, OWN)).toThrow(message);
  });

  it("refuses to make grey of colours with a gamma, which TensorFlow takes into account", () => {
    const gamma = chunk("gAMA", Uint8Array.of(0, 0, 0xb1, 0x8f));
    expect(() => decodePng(png(1, 1, [0, 1, 2, 3], gamma), { channels: 1, bits: 8 })).toThrow("gamma");
    expect(decodePng(png(1, 1, [0, 1, 2, 3], gamma), OWN).data).toEqual(Uint8Array.of(1, 2, 3));
  });
});
