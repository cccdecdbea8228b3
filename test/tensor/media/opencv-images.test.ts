import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { decodePixels } from "../../../src/tensor/media/decode-pixels.ts";
import { missingPython, PYTHON } from "../../helpers/missing-python.ts";

const missing = missingPython("Pixels of BMP, PNM, TIFF and PNG against OpenCV", "cv2");

interface Case {
  readonly name: string;
  readonly file: string;
  readonly dtype: "uint8" | "uint16";
  readonly shape: [height: number, width: number, channels: number];
  readonly pixels: string;
}

function readCases(): Case[] {
  const script = new URL("opencv-images.py", import.meta.url).pathname;
  const printed = execFileSync(PYTHON, [script, process.env.KSERVING_TEST_SEED ?? "1"], { encoding: "utf8" });
  return printed
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

describe.skipIf(missing)("an image has the pixels that OpenCV reads from", () => {
  const cases = missing ? [] : readCases();

  test.each(cases)("$name", async ({ file, dtype, shape, pixels }) => {
    const { data, width, height, channels } = await decodePixels(Buffer.from(file, "base64"), { exif: false });
    expect([height, width, channels]).toEqual(shape);
    expect(data).toBeInstanceOf(dtype === "uint8" ? Uint8Array : Uint16Array);
    expect(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64")).toBe(pixels);
  });
});
