import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { parseHostOptions } from "../../../src/models/host-options.ts";
import { decodeImageInputs } from "../../../src/models/images/image-input.ts";
import type { DType } from "../../../src/tensor/dtype.ts";
import { fromFloat16 } from "../../../src/tensor/float16.ts";
import { createTensor, createTensors, type Tensor } from "../../../src/tensor/tensor.ts";
import { missingPython, PYTHON } from "../../helpers/missing-python.ts";

interface Image {
  readonly format: string;
  readonly image: string;
  readonly width: number;
  readonly height: number;
  readonly channels: number;
  readonly dtype: DType;
  readonly isResized: boolean;
  readonly expected: string;
}

const COUNT = 240;
/** Any number gives other images. */
const SEED = process.env.KSERVING_TEST_SEED ?? "1";
const missing = missingPython("The decoding of images against OpenCV", "cv2");

function readImages(): Image[] {
  const script = new URL("opencv-images.py", import.meta.url).pathname;
  const printed = execFileSync(PYTHON, [script, String(COUNT), SEED], { maxBuffer: 2 ** 30, encoding: "utf8" });
  return printed
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

async function decode({ image, width, height, channels, dtype }: Image): Promise<number[]> {
  const spec = { name: "x", dtype, shape: [1, height, width, channels] };
  const inputs = createTensors([["x", createTensor("bytes", [1], [Buffer.from(image, "base64")])]]);
  const { x } = await decodeImageInputs(inputs, [spec], parseHostOptions({}).images);
  const { data, shape } = x as Tensor;
  expect(shape).toEqual(spec.shape);
  const numbers = Array.from(data as ArrayLike<number>);
  return dtype === "float16" ? numbers.map(fromFloat16) : numbers;
}

describe.skipIf(missing)("images become what OpenCV makes of them", () => {
  it(`in ${COUNT} random images of all depths, channels and dtypes, larger and smaller`, {
    timeout: 60_000,
  }, async () => {
    for (const image of readImages()) {
      const bytes = Buffer.from(image.expected, "base64");
      const expected = new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
      const actual = await decode(image);
      const differences = actual.map((value, index) => Math.abs(value - (expected[index] as number)));
      const about = `${image.format} to ${image.width} x ${image.height} ${image.dtype}`;
      const mean = differences.reduce((sum, each) => sum + each, 0) / differences.length;
      const far = differences.filter((each) => each > 1).length / differences.length;
      expect(mean, about).toBeLessThanOrEqual(0.5);
      // Decoders of JPEG differ, those of PNG must not; resizing may round another way.
      const isPng = image.format.startsWith("png");
      expect(far, about).toBeLessThanOrEqual(isPng ? 0 : 0.01);
      if (isPng && !image.isResized) expect(mean, about).toBe(0);
    }
  });
});
