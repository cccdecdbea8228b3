import * as tf from "@tensorflow/tfjs-core";
import { sizeOfNew } from "../../tfjs/kernel-checks.ts";
import { FLOATS, INTEGERS, TYPE } from "../element-types.ts";
import { decodeJpeg } from "../images/decode-jpeg.ts";
import { decodePng } from "../images/decode-png.ts";
import type { Image } from "../images/decoded-image.ts";
import type { Kernel, KernelFactory, KernelTable, OpNode } from "../op-node.ts";
import { asStrings, asTensor, listOf, numberOf, numbersOf, type Value } from "../values.ts";

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

const FLOATS_AND_INTEGERS: ReadonlySet<number> = new Set([...FLOATS, ...INTEGERS]);

/** Alignment of a new grid with the old one. */
interface Grid {
  readonly corners: boolean;
  readonly centers: boolean;
}

function readGrid(node: OpNode): Grid {
  node.typeOf("T", FLOATS_AND_INTEGERS);
  const grid = { corners: node.flag("align_corners", false), centers: node.flag("half_pixel_centers", false) };
  return grid.corners && grid.centers ? node.refuse("with align_corners and half_pixel_centers at once") : grid;
}

/** In float32, as TensorFlow computes it. */
function scaleOf(from: number, to: number, { corners }: Grid): number {
  return corners && to > 1 ? Math.fround((from - 1) / (to - 1)) : Math.fround(from / to);
}

/** Height and width to resize to; nothing is to be cut to nothing. */
function sizeFrom(value: Value | undefined): [number, number] {
  const [height = 0, width = 0, ...more] = listOf(value, "size");
  if (height > 0 && width > 0 && more.length === 0) return [height, width];
  throw new Error(`output dimensions must be positive, not [${height},${width}]`);
}

/** Pixels of images: there must be some to be taken. */
function imagesFrom(value: Value | undefined): tf.Tensor {
  const tensor = asTensor(value);
  const [, rows = 0, columns = 0] = tensor.shape;
  if (tensor.rank === 4 && rows > 0 && columns > 0) return tensor;
  throw new Error(`input must be 4-dimensional, with pixels, not of shape [${tensor.shape}]`);
}

/** In JavaScript: WebAssembly's kernel reads beyond images at some sizes. */
const resizeBilinear: KernelFactory = (node) => {
  const grid = readGrid(node);
  return (images, size) => {
    const x = imagesFrom(images);
    const [batch, rows, columns, depth] = x.shape as [number, number, number, number];
    const [height, width] = sizeFrom(size);
    const count = sizeOfNew([batch, height, width, depth], "The result of ResizeBilinear");
    const [down, across] = [neighbours(rows, height, grid), neighbours(columns, width, grid)];
    const [values, results] = [x.dataSync(), new Float32Array(count)];
    let at = 0;
    for (let image = 0; image < batch; image++) {
      for (const vertical of down) {
        const [top, bottom] = [vertical.lower, vertical.upper].map((row) => (image * rows + row) * columns * depth) as [
          number,
          number,
        ];
        for (const { lower, upper, share } of across) {
          const [left, right] = [lower * depth, upper * depth];
          for (let channel = 0; channel < depth; channel++) {
            const topLeft = values[top + left + channel]!;
            const bottomLeft = values[bottom + left + channel]!;
            const above = topLeft + (values[top + right + channel]! - topLeft) * share;
            const below = bottomLeft + (values[bottom + right + channel]! - bottomLeft) * share;
            results[at++] = above + (below - above) * vertical.share;
          }
        }
      }
    }
    return tf.tensor(results, [batch, height, width, depth]);
  };
};

/** The two places that a new one lies between, and how near it is to the upper one. */
interface Neighbours {
  readonly lower: number;
  readonly upper: number;
  readonly share: number;
}

function neighbours(from: number, to: number, grid: Grid): Neighbours[] {
  const scale = scaleOf(from, to, grid);
  return Array.from({ length: to }, (_, place) => {
    const exact = Math.fround(grid.centers ? Math.fround((place + 0.5) * scale) - 0.5 : place * scale);
    const floor = Math.floor(exact);
    return {
      lower: Math.max(floor, 0),
      upper: Math.min(Math.ceil(exact), from - 1),
      share: Math.fround(exact - floor),
    };
  });
}

const resizeNearest: KernelFactory = (node) => {
  const grid = readGrid(node);
  return (images, size) => {
    const x = imagesFrom(images);
    const [height, width] = sizeFrom(size);
    sizeOfNew([x.shape[0]!, height, width, x.shape[3]!], "The result of ResizeNearestNeighbor");
    const [rows, columns] = [nearestPlaces(x.shape[1]!, height, grid), nearestPlaces(x.shape[2]!, width, grid)];
    return tf.tidy(() => tf.gather(tf.gather(x, rows, 1), columns, 2));
  };
};

/** Index of the old number for each place of the new length. */
function nearestPlaces(from: number, to: number, grid: Grid): tf.Tensor1D {
  const scale = scaleOf(from, to, grid);
  const places = Array.from({ length: to }, (_, place) => {
    const exact = Math.fround((grid.centers ? place + 0.5 : place) * scale);
    const whole = grid.corners ? Math.floor(exact + 0.5) : Math.floor(exact);
    return Math.min(Math.max(whole, 0), from - 1);
  });
  return tf.tensor1d(places, "int32");
}

const suppressV3: KernelFactory = (node) => {
  node.typeOf("T", new Set([TYPE.float]), TYPE.float);
  return (boxes, scores, count, overlap, threshold) => {
    const [limit, most] = [threshold === undefined ? Number.NEGATIVE_INFINITY : numberOf(threshold), numberOf(count)];
    return tf.image.nonMaxSuppression(
      asTensor(boxes) as tf.Tensor2D,
      asTensor(scores) as tf.Tensor1D,
      most,
      numberOf(overlap),
      limit,
    );
  };
};

const cropAndResize: KernelFactory = (node) => {
  node.typeOf("T", new Set([TYPE.float]));
  const method = node.text("method", "bilinear");
  const fill = node.float("extrapolation_value", 0);
  if (method !== "bilinear") return node.refuse(`with method ${method}`);
  return (images, boxes, places, size) => {
    const [image, frames, which] = [asTensor(images), asTensor(boxes), asTensor(places)] as [
      tf.Tensor4D,
      tf.Tensor2D,
      tf.Tensor1D,
    ];
    if (numbersOf(which).some((index) => index < 0 || index >= image.shape[0]))
      throw new Error("box_index has values outside [0, batch_size)");
    return tf.image.cropAndResize(image, frames, which, sizeFrom(size), "bilinear", fill);
  };
};

/** Operations that make numbers of encoded images, and those on images that are numbers already. */
export const IMAGE_KERNELS: KernelTable = {
  DecodeJpeg: decodeJpegOp,
  DecodePng: decoder,
  DecodeImage: decoder,
  ResizeBilinear: resizeBilinear,
  ResizeNearestNeighbor: resizeNearest,
  NonMaxSuppressionV2: suppressV3,
  NonMaxSuppressionV3: suppressV3,
  CropAndResize: cropAndResize,
};
