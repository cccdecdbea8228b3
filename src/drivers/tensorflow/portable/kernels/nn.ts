import * as tf from "@tensorflow/tfjs-core";
import { ServingError } from "../../../../errors.ts";
import { sizeOfNew } from "../../tfjs/kernel-checks.ts";
import { FLOATS, TYPE } from "../element-types.ts";
import type { KernelFactory, KernelTable, OpNode } from "../op-node.ts";
import { asTensor, listOf, numberOf, requireRank, type Value } from "../values.ts";
import { areFinite } from "./reduce.ts";
import { pairsOf } from "./slice.ts";

type Pair = [number, number];

/** A convolution of an image, or one for each of its channels. */
function convolution(compute: typeof tf.conv2d, channels: (inputs: number, outputs: number) => number): KernelFactory {
  return (node) => {
    const { strides, dilations, layOn } = readWindow(node);
    return (x, filter) => {
      const [image, weights] = [requireRank(x, 4), requireRank(filter, 4)] as [tf.Tensor4D, tf.Tensor4D];
      if (image.shape[3] !== weights.shape[2])
        throw new Error(`input depth ${image.shape[3]} does not match the filter's ${weights.shape[2]}`);
      if (weights.size === 0) throw new Error(`filter must not have zero elements: [${weights.shape}]`);
      const { paddings, outer, isEmpty } = layOn(image.shape, weights.shape);
      if (isEmpty) return tf.zeros([...outer, channels(weights.shape[2], weights.shape[3])]);
      return compute(image, weights, strides, paddings, "NHWC", dilations);
    };
  };
}

const transposed: KernelFactory = (node) => {
  const { strides, dilations } = readWindow(node);
  const padding = node.text("padding").toLowerCase() as "same" | "valid";
  if (padding.startsWith("e") || dilations.some((rate) => rate !== 1))
    return node.refuse("with dilations or explicit padding");
  return (sizes, filter, gradient) => {
    const shape = listOf(sizes, "input_sizes") as [number, number, number, number];
    const [image, weights] = [requireRank(gradient, 4), requireRank(filter, 4)] as [tf.Tensor4D, tf.Tensor4D];
    if (shape.length !== 4) throw new Error(`input_sizes must have 4 elements, not ${shape.length}`);
    sizeOfNew(shape, "The result of Conv2DBackpropInput");
    return tf.conv2dTranspose(image, weights, shape, strides, padding);
  };
};

type Pool = (x: tf.Tensor4D, size: Pair, strides: Pair, padding: Paddings) => tf.Tensor;

function pool(compute: Pool): KernelFactory {
  return (node) => {
    const size = spatial(node, "ksize");
    const { strides, layOn } = readWindow(node);
    const isPoint = size.every((length) => length === 1);
    return (x) => {
      const image = requireRank(x, 4) as tf.Tensor4D;
      const { paddings, outer, isEmpty } = layOn(image.shape, size);
      if (isEmpty) return tf.zeros([...outer, image.shape[3]]);
      requireFinite(image);
      // WebAssembly's kernels refuse a window of one place, and do not say so.
      return isPoint ? everyNth(image, strides) : compute(image, size, strides, paddings);
    };
  };
}

/** TensorFlow's own pools spread numbers that are not finite beyond their windows, or lose them. */
function requireFinite(x: tf.Tensor): void {
  if (areFinite(x)) return;
  throw new ServingError(
    "out_of_range",
    "The model pools numbers that are not finite, which is not computed alike everywhere.",
  );
}

function everyNth(x: tf.Tensor, strides: Pair): tf.Tensor {
  return tf.tidy(() =>
    strides.reduce((image, stride, index) => {
      const places = Array.from({ length: Math.ceil(x.shape[index + 1]! / stride) }, (_, n) => n * stride);
      return tf.gather(image, tf.tensor1d(places, "int32"), index + 1);
    }, x),
  );
}

const biasAdd: KernelFactory = (node) => {
  requireChannelsLast(node);
  node.typeOf("T", FLOATS);
  return (x, bias) => {
    if (asTensor(x).rank < 2 || asTensor(bias).rank !== 1)
      throw new Error(`Input must be at least 2D and bias 1D: [${asTensor(x).shape}], [${asTensor(bias).shape}]`);
    if (asTensor(x).shape.at(-1) !== asTensor(bias).size)
      throw new Error(
        `Must provide as many biases as the last dimension of the input: ${asTensor(bias).size} vs. [${asTensor(x).shape}]`,
      );
    return tf.add(asTensor(x), asTensor(bias));
  };
};

const batchNorm: KernelFactory = (node) => {
  requireChannelsLast(node);
  node.typeOf("T", FLOATS);
  const epsilon = node.float("epsilon", 1e-4);
  if (node.flag("is_training", true)) return node.refuse("in training");
  return (x, scale, offset, mean, variance) => {
    const [center, spread] = [asTensor(mean), asTensor(variance)];
    const [shift, factor] = [asTensor(offset), asTensor(scale)] as [tf.Tensor1D, tf.Tensor1D];
    const channels = requireRank(x, 4).shape[3]!;
    const wrong = [center, spread, shift, factor].find(({ shape }) => shape.length !== 1 || shape[0] !== channels);
    if (wrong !== undefined)
      throw new Error(`expected a list for ${channels} channels, not a shape of [${wrong.shape}]`);
    if (asTensor(x).size === 0) return [x, center, spread, center, spread].map((each) => asTensor(each).clone());
    const result = tf.batchNorm(asTensor(x), center as tf.Tensor1D, spread as tf.Tensor1D, shift, factor, epsilon);
    return [result, center.clone(), spread.clone(), center.clone(), spread.clone()];
  };
};

const localResponse: KernelFactory = (node) => {
  const [radius, bias] = [node.integer("depth_radius", 5), node.float("bias", 1)];
  const [alpha, beta] = [node.float("alpha", 1), node.float("beta", 0.5)];
  return (x) => tf.localResponseNormalization(asTensor(x) as tf.Tensor4D, radius, bias, alpha, beta);
};

const addN: KernelFactory = (node) => {
  node.typeOf("T", new Set([...FLOATS, TYPE.int32]));
  return (...inputs) => tf.addN(inputs.map(asTensor));
};

const depthToSpace: KernelFactory = (node) => {
  requireChannelsLast(node);
  node.typeOf("T", FLOATS);
  const size = node.integer("block_size");
  return (x) => tf.depthToSpace(asTensor(x) as tf.Tensor4D, size, "NHWC");
};

const spaceToBatch: KernelFactory = (node) => {
  node.typeOf("T", FLOATS);
  return (x, blocks, paddings) => tf.spaceToBatchND(asTensor(x), blocksOf(blocks), pairsFor(blocks, paddings));
};

const batchToSpace: KernelFactory = (node) => {
  node.typeOf("T", FLOATS);
  return (x, blocks, crops) => tf.batchToSpaceND(asTensor(x), blocksOf(blocks), pairsFor(blocks, crops));
};

function blocksOf(value: Value | undefined): number[] {
  const blocks = listOf(value, "block_shape");
  if (blocks.every((size) => size >= 1)) return blocks;
  throw new Error(`Block shape must be positive, not [${blocks}]`);
}

function pairsFor(blocks: Value | undefined, value: Value | undefined): [number, number][] {
  const [count] = asTensor(blocks).shape;
  const { shape } = asTensor(value);
  const pairs = pairsOf(value);
  if (shape.length !== 2 || shape[0] !== count || shape[1] !== 2)
    throw new Error(`expected a matrix of [${count},2], not [${shape}]`);
  if (pairs.flat().some((size) => size < 0)) throw new Error(`paddings and crops must be non-negative, not [${pairs}]`);
  return pairs;
}

const clip: KernelFactory = (node) => {
  node.typeOf("T", FLOATS);
  return (x, low, high) => tf.clipByValue(asTensor(x), numberOf(low), numberOf(high));
};

/** Numbers of lines before and after each dimension. */
type Paddings = [Pair, Pair, Pair, Pair];

/** Movement of a convolution's window over an image. */
interface Window {
  readonly strides: Pair;
  readonly dilations: Pair;
  /**
   * Layout of a window of this height and width on an image of this shape; throws an Error for one that is larger than
   * the image.
   */
  layOn(shape: readonly number[], filter: readonly number[]): Layout;
}

/** A window on an image. */
interface Layout {
  readonly paddings: Paddings;
  /** The result's shape, without its channels. */
  readonly outer: readonly [batch: number, height: number, width: number];
  /** WebAssembly's kernels do not know that there may be nothing to compute. */
  readonly isEmpty: boolean;
}

/** A convolution's or pool's attributes; refuses values that are not computed here as in TensorFlow. */
export function readWindow(node: OpNode): Window {
  requireChannelsLast(node);
  node.typeOf("T", FLOATS, TYPE.float);
  const [strides, dilations] = [spatial(node, "strides"), spatial(node, "dilations")];
  const padding = node.text("padding");
  const lay = (padded: (shape: readonly number[], filter: readonly number[]) => Paddings): Window => ({
    strides,
    dilations,
    layOn: (shape, filter) => layOut({ shape, filter, strides, dilations, paddings: padded(shape, filter) }),
  });
  if (padding === "EXPLICIT") {
    const fixed = explicitPaddings(node);
    return lay(() => fixed);
  }
  if (padding !== "SAME" && padding !== "VALID") return node.refuse(`with padding ${padding}`);
  const none = padding === "VALID";
  const along = (axis: 0 | 1, size: number, filter: number): Pair =>
    none ? [0, 0] : samePadding(size, (filter - 1) * dilations[axis] + 1, strides[axis]);
  // Written out in any case: for SAME, WebAssembly's kernels are wrong if a stride is larger than the window.
  return lay(([, height = 0, width = 0], [rows = 0, columns = 0]) => [
    [0, 0],
    along(0, height, rows),
    along(1, width, columns),
    [0, 0],
  ]);
}

interface Placement {
  readonly shape: readonly number[];
  readonly filter: readonly number[];
  readonly strides: Pair;
  readonly dilations: Pair;
  readonly paddings: Paddings;
}

function layOut({ shape, filter, strides, dilations, paddings }: Placement): Layout {
  const along = (axis: 0 | 1) => {
    const [before, after] = paddings[axis + 1]!;
    const window = (filter[axis]! - 1) * dilations[axis] + 1;
    const room = shape[axis + 1]! + before + after - window;
    if (room < 0 && window > 1)
      throw new Error(`Computed output size would be negative: the window takes ${window} of ${room + window}`);
    return Math.floor((room + strides[axis]) / strides[axis]);
  };
  const outer = [shape[0]!, along(0), along(1)] as const;
  return { paddings, outer, isEmpty: outer.some((size) => size === 0) };
}

/** Refuses the layouts that TensorFlow's CPU kernels do not take either, or not in every build. */
function requireChannelsLast(node: OpNode): void {
  const format = node.text("data_format", "NHWC");
  if (format !== "NHWC") node.refuse(`in ${format}`);
}

/** Height and width of an attribute with a number for each dimension. */
function spatial(node: OpNode, name: string): Pair {
  const values = node.integers(name, [1, 1, 1, 1]);
  if (values.length !== 4 || values[0] !== 1 || values[3] !== 1) node.refuse(`with ${name} [${values}]`);
  return [values[1]!, values[2]!];
}

/** As many places as the image has, divided by the stride; an odd one goes behind. */
function samePadding(size: number, window: number, stride: number): Pair {
  const total = Math.max((Math.ceil(size / stride) - 1) * stride + window - size, 0);
  return [Math.floor(total / 2), Math.ceil(total / 2)];
}

function explicitPaddings(node: OpNode): Paddings {
  const numbers = node.integers("explicit_paddings");
  if (numbers.length !== 8) return node.refuse(`with explicit paddings [${numbers}]`);
  return [0, 2, 4, 6].map((index): Pair => [numbers[index]!, numbers[index + 1]!]) as Paddings;
}

/** Layers of neural networks. */
export const NN_KERNELS: KernelTable = {
  Conv2D: convolution(tf.conv2d, (_, outputs) => outputs),
  DepthwiseConv2dNative: convolution(tf.depthwiseConv2d as typeof tf.conv2d, (inputs, outputs) => inputs * outputs),
  Conv2DBackpropInput: transposed,
  MaxPool: pool(tf.maxPool as never),
  AvgPool: pool(tf.avgPool as never),
  BiasAdd: biasAdd,
  FusedBatchNorm: batchNorm,
  FusedBatchNormV2: batchNorm,
  FusedBatchNormV3: batchNorm,
  LRN: localResponse,
  AddN: addN,
  DepthToSpace: depthToSpace,
  SpaceToBatchND: spaceToBatch,
  BatchToSpaceND: batchToSpace,
  ClipByValue: clip,
};
