import * as tf from "@tensorflow/tfjs-core";
import { TYPE } from "../element-types.ts";
import { decodeJpeg } from "../images/decode-jpeg.ts";
import { decodePng } from "../images/decode-png.ts";
import type { Image } from "../images/decoded-image.ts";
import type { Kernel, KernelFactory, KernelTable, OpNode } from "../op-node.ts";
import { asStrings } from "../values.ts";

/** First bytes of the two formats. */
const [JPEG, PNG] = ["ffd8ff", "89504e470d0a1a0a"];
const NUMBERS: ReadonlySet<number> = new Set([TYPE.uint8, TYPE.uint16]);

/** Whatever its name, each operation takes both formats. */
function decoder(node: OpNode): Kernel {
  const channels = node.integer("channels", 0);
  const bits = node.typeOf("dtype", NUMBERS, TYPE.uint8) === TYPE.uint16 ? 16 : 8;
  if (![0, 1, 3, 4].includes(channels)) return node.refuse(`with ${channels} channels`);
  const decode = (bytes: Uint8Array): Image => {
    const begins = Buffer.from(bytes.subarray(0, 8)).toString("hex");
    if (begins === PNG) return decodePng(bytes, { channels, bits });
    if (!begins.startsWith(JPEG))
      throw new Error("expected the bytes of a JPEG or PNG; other formats are not decoded here");
    if (channels === 4 || bits === 16) throw new Error("a JPEG has 1 or 3 channels of 8 bits");
    return decodeJpeg(bytes, channels as 0 | 1 | 3);
  };
  return (contents) => {
    const { elements, shape } = asStrings(contents);
    if (shape.length > 0) throw new Error(`contents must be scalar, got shape [${shape}]`);
    const { width, height, channels: depth, data } = decode(elements[0]!);
    return tf.tensor(Int32Array.from(data), [height, width, depth], "int32");
  };
}

const decodeJpegOp: KernelFactory = (node) => {
  const method = node.text("dct_method", "");
  if (method !== "" && method !== "INTEGER_FAST") return node.refuse(`with dct_method ${method}`);
  if (node.integer("ratio", 1) !== 1) return node.refuse("with ratio");
  if (!node.flag("fancy_upscaling", true)) return node.refuse("without fancy_upscaling");
  if (node.flag("try_recover_truncated", false)) return node.refuse("with try_recover_truncated");
  return decoder(node);
};

/** Operations that make numbers of encoded images. */
export const DECODE_IMAGE_KERNELS: KernelTable = {
  DecodeJpeg: decodeJpegOp,
  DecodePng: decoder,
  DecodeImage: decoder,
};
