import * as tf from "@tensorflow/tfjs-core";
import { ServingError } from "../../../../errors.ts";
import { sizeOfNew } from "../../tfjs/tensor-size.ts";
import { FLOATS, TYPE } from "../element-types.ts";
import { broadcastShape } from "../host-math.ts";
import type { KernelFactory, KernelTable } from "../op-node.ts";
import { asTensor, listOf, numberOf, type Value } from "../values.ts";
import { pairsOf } from "./slice.ts";
import { areFinite } from "./softmax.ts";
import { type Paddings, readWindow, requireChannelsLast, spatial } from "./window.ts";

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

const matMul: KernelFactory = (node) => {
  node.typeOf("T", FLOATS);
  const [a, b] = [node.flag("transpose_a", false), node.flag("transpose_b", false)];
  return (left, right) => multiply(requireRank(left, 2), requireRank(right, 2), a, b);
};

const batchMatMul: KernelFactory = (node) => {
  node.typeOf(node.op === "BatchMatMulV3" ? "Ta" : "T", FLOATS);
  const [a, b] = [node.flag("adj_x", false), node.flag("adj_y", false)];
  return (left, right) => multiply(asTensor(left), asTensor(right), a, b);
};

/** WebAssembly reads beyond a matrix without elements. */
function multiply(a: tf.Tensor, b: tf.Tensor, transposeA: boolean, transposeB: boolean): tf.Tensor {
  const inner = [a.shape.at(transposeA ? -2 : -1), b.shape.at(transposeB ? -1 : -2)];
  if (a.rank < 2 || b.rank < 2 || inner[0] !== inner[1])
    throw new Error(`Matrix size-incompatible: In[0]: [${a.shape}], In[1]: [${b.shape}]`);
  if (a.size > 0 && b.size > 0) return tf.matMul(...alignBatches(a, b), transposeA, transposeB);
  const [rows, columns] = [a.shape.at(transposeA ? -1 : -2), b.shape.at(transposeB ? -2 : -1)];
  const batches = broadcastShape(a.shape.slice(0, -2), b.shape.slice(0, -2));
  const shape = [...batches, rows as number, columns as number];
  sizeOfNew(shape, "The product");
  return tf.zeros(shape);
}

/** WebAssembly broadcasts only if one side has a single matrix. */
function alignBatches(a: tf.Tensor, b: tf.Tensor): [tf.Tensor, tf.Tensor] {
  const [left, right] = [a.shape.slice(0, -2), b.shape.slice(0, -2)];
  if (left.join() === right.join()) return [a, b];
  const batches = broadcastShape(left, right);
  const widen = (x: tf.Tensor) => tf.broadcastTo(x, [...batches, ...x.shape.slice(-2)]);
  return [widen(a), widen(b)];
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

function requireRank(value: Value | undefined, rank: number): tf.Tensor {
  const tensor = asTensor(value);
  if (tensor.rank === rank) return tensor;
  throw new Error(`expected ${rank} dimensions, got a tensor of shape [${tensor.shape}]`);
}

const clip: KernelFactory = (node) => {
  node.typeOf("T", FLOATS);
  return (x, low, high) => tf.clipByValue(asTensor(x), numberOf(low), numberOf(high));
};

/** Layers of neural networks. */
export const NN_KERNELS: KernelTable = {
  Conv2D: convolution(tf.conv2d, (_, outputs) => outputs),
  DepthwiseConv2dNative: convolution(tf.depthwiseConv2d as typeof tf.conv2d, (inputs, outputs) => inputs * outputs),
  Conv2DBackpropInput: transposed,
  MaxPool: pool(tf.maxPool as never),
  AvgPool: pool(tf.avgPool as never),
  MatMul: matMul,
  BatchMatMul: batchMatMul,
  BatchMatMulV2: batchMatMul,
  BatchMatMulV3: batchMatMul,
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
