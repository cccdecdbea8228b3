import * as tf from "@tensorflow/tfjs-core";
import { ServingError } from "../../../../errors.ts";
import { FLOATS, TYPE } from "../element-types.ts";
import { broadcastShape } from "../host-math.ts";
import type { KernelFactory, KernelTable } from "../op-node.ts";
import { asTensor, numberOf, numbersOf } from "../values.ts";
import { pairsOf } from "./slice.ts";
import { areFinite } from "./softmax.ts";
import { type Paddings, readWindow, requireChannelsLast, spatial } from "./window.ts";

type Pair = [number, number];

/** A convolution of an image, or one for each of its channels. */
function convolution(compute: typeof tf.conv2d, channels: (inputs: number, outputs: number) => number): KernelFactory {
  return (node) => {
    const { strides, dilations, layOn } = readWindow(node);
    return (x, filter) => {
      const [image, weights] = [asTensor(x), asTensor(filter)] as [tf.Tensor4D, tf.Tensor4D];
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
    const shape = numbersOf(sizes) as [number, number, number, number];
    const [image, weights] = [asTensor(gradient), asTensor(filter)] as [tf.Tensor4D, tf.Tensor4D];
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
      const image = asTensor(x) as tf.Tensor4D;
      const { paddings, outer, isEmpty } = layOn(image.shape, size);
      if (isEmpty) return tf.zeros([...outer, image.shape[3]]);
      requireFinite(image);
      // WebAssembly's kernels refuse a window of one place, and do not say so.
      return isPoint ? everyNth(image, strides) : compute(image, size, strides, paddings);
    };
  };
}

/** TensorFlow's own pools spread what is not finite beyond its window, or lose it. */
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
  return (left, right) => multiply(asTensor(left), asTensor(right), a, b);
};

const batchMatMul: KernelFactory = (node) => {
  node.typeOf(node.op === "BatchMatMulV3" ? "Ta" : "T", FLOATS);
  const [a, b] = [node.flag("adj_x", false), node.flag("adj_y", false)];
  return (left, right) => multiply(asTensor(left), asTensor(right), a, b);
};

/** WebAssembly reads beyond a matrix without elements. */
function multiply(a: tf.Tensor, b: tf.Tensor, transposeA: boolean, transposeB: boolean): tf.Tensor {
  if (a.size > 0 && b.size > 0) return tf.matMul(...alignBatches(a, b), transposeA, transposeB);
  const [rows, columns] = [a.shape.at(transposeA ? -1 : -2), b.shape.at(transposeB ? -2 : -1)];
  return tf.zeros([...a.shape.slice(0, -2), rows as number, columns as number]);
}

/** WebAssembly broadcasts only where one side has a single matrix. */
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
  return (x, blocks, paddings) => tf.spaceToBatchND(asTensor(x), numbersOf(blocks), pairsOf(paddings));
};

const batchToSpace: KernelFactory = (node) => {
  node.typeOf("T", FLOATS);
  return (x, blocks, crops) => tf.batchToSpaceND(asTensor(x), numbersOf(blocks), pairsOf(crops));
};

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
