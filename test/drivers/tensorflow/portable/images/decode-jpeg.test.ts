import { describe, expect, it } from "vitest";
import { decodeJpeg } from "../../../../../src/drivers/tensorflow/portable/images/decode-jpeg.ts";
import { readCases } from "../../tensorflow-cases.ts";

// portable/equality.test.ts compares their pixels with TensorFlow's.
const IMAGES = readCases("decode_jpegs").map(({ inputs }) => inputs.jpeg?.data[0] as Uint8Array);

/** An image with one byte changed; each number gives another. */
function damage(image: Uint8Array, seed: number): Uint8Array {
  const bytes = image.slice();
  bytes[2 + ((seed * 7919) % (bytes.length - 2))] = (seed * 31) % 256;
  return bytes;
}

/** Decodes, or says why not; fails for anything but an Error. */
function attempt(bytes: Uint8Array): string {
  try {
    const { data, width, height, channels } = decodeJpeg(bytes, 3);
    return data.length === width * height * channels ? "decoded" : "short";
  } catch (reason) {
    return (reason as Error).message;
  }
}

describe("decodeJpeg", () => {
  it("refuses an image that ends early, wherever that is", () => {
    for (const image of IMAGES.slice(6, 8)) {
      for (let length = 2; length < image.length; length += 3)
        expect(() => decodeJpeg(image.subarray(0, length), 0), `${length} bytes`).toThrow();
    }
  });

  it("either decodes or refuses a damaged image", () => {
    const outcomes = IMAGES.flatMap((image, index) =>
      Array.from({ length: 50 }, (_, seed) => attempt(damage(image, index * 50 + seed))),
    );
    expect(outcomes).not.toContain("short");
    expect(outcomes.filter((outcome) => outcome === "decoded").length).toBeGreaterThan(10);
    expect(outcomes.filter((outcome) => outcome.startsWith("Corrupt JPEG data")).length).toBeGreaterThan(100);
  });

  it("refuses a size that would not fit into memory, before it takes any", () => {
    const frame = Buffer.of(0xff, 0xc0, 0, 17, 8);
    const huge = Buffer.from(IMAGES.find((image) => Buffer.from(image).includes(frame)) as Uint8Array);
    const size = huge.indexOf(frame) + frame.length;
    huge.fill(0xff, size, size + 4);
    expect(() => decodeJpeg(huge, 3)).toThrow("65535 x 65535 pixels is too large");
    // 9000 x 9000: few enough, but not in so few bytes.
    for (const at of [size, size + 2]) huge.writeUInt16BE(9000, at);
    expect(() => decodeJpeg(huge, 3)).toThrow("JPEG ends too early");
  });
});
