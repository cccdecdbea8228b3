import sharp from "sharp";
import { parseHostOptions } from "../../src/models/host-options.ts";
import { decodeImageInputs } from "../../src/models/images/image-input.ts";
import { decodeImage } from "../../src/tensor/media/decode-image.ts";
import { decodePixels } from "../../src/tensor/media/decode-pixels.ts";
import { readJpegHeader } from "../../src/tensor/media/jpeg-header.ts";
import { createTensor, createTensors } from "../../src/tensor/tensor.ts";
import type { Decoder } from "./decoder.ts";

const SIZE = 16;
/** More than any sample has, and little enough that a changed size costs no time. */
const MAX_PIXELS = 250_000;
const FORMATS = ["jpeg", "png", "webp", "gif", "tiff"] as const;

/** Readers of images: for hooks, for models, and of the header that is read before any pixel. */
export async function imageDecoders(): Promise<Decoder[]> {
  const samples = await Promise.all(FORMATS.map(encodeImage));
  const [jpeg = Buffer.alloc(0)] = samples;
  const spec = { name: "x", dtype: "uint8", shape: [1, SIZE / 2, SIZE / 2, 3] } as const;
  const { images } = parseHostOptions({});
  return [
    {
      name: "an image",
      route: { path: "/invocations", headers: { "content-type": "image/x" }, isImage: true },
      samples,
      decode: (bytes) => decodePixels(bytes, { exif: true, maxPixels: MAX_PIXELS }),
    },
    { name: "a hook's image", samples, decode: (bytes) => decodeImage(bytes, { width: 8, maxPixels: MAX_PIXELS }) },
    {
      name: "a model's image",
      // sharp's GIFs have an alpha channel, which a model of three refuses.
      samples: [...samples.filter((_, index) => FORMATS[index] !== "gif"), Buffer.from(jpeg.toString("base64"))],
      decode: (bytes) => decodeImageInputs(createTensors([["x", createTensor("bytes", [1], [bytes])]]), [spec], images),
    },
    { name: "a JPEG's header", samples: [jpeg], decode: readJpegHeader },
  ];
}

function encodeImage(format: (typeof FORMATS)[number]): Promise<Buffer> {
  const data = Uint8Array.from({ length: SIZE * SIZE * 3 }, (_, index) => (index * 7919) % 256);
  const raw = { width: SIZE, height: SIZE, channels: 3 } as const;
  return sharp(data, { raw }).toFormat(format).toBuffer();
}
