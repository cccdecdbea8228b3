import sharp from "sharp";
import { parseHostOptions } from "../../src/models/host-options.ts";
import { decodeImageInputs } from "../../src/models/images/image-input.ts";
import { createTensor, createTensors } from "../../src/tensor/tensor.ts";
import type { Comparison } from "./compare.ts";

const WIDTH = 640;
const HEIGHT = 480;

/** A photo-like image to a model's input. */
export async function imageComparison(): Promise<Comparison> {
  const image = await makeImage();
  const spec = { name: "x", dtype: "float32", shape: [-1, 224, 224, 3] } as const;
  const inputs = createTensors([["x", createTensor("bytes", [1], [image])]]);
  const choices = parseHostOptions({}).images;
  return {
    name: `JPEG of ${WIDTH} x ${HEIGHT}, ${Math.round(image.length / 1000)} KB, to 224 x 224 x 3 float32`,
    ours: () => decodeImageInputs(inputs, [spec], choices),
    beside: () => sharp(image).raw().toBuffer(),
    ceiling: "sharp's own decoding",
    figure: "cost",
    target: { atMost: 1.35 },
  };
}

/** Smooth shapes with some noise. */
function makeImage(): Promise<Buffer> {
  const data = Uint8Array.from({ length: WIDTH * HEIGHT * 3 }, (_, index) => {
    const [x, y] = [Math.floor(index / 3) % WIDTH, Math.floor(index / 3 / WIDTH)];
    return 128 + 90 * Math.sin(x / 37 + (index % 3)) * Math.cos(y / 53) + ((index * 7919) % 17);
  });
  const raw = { width: WIDTH, height: HEIGHT, channels: 3 } as const;
  return sharp(data, { raw }).jpeg({ quality: 90 }).toBuffer();
}
