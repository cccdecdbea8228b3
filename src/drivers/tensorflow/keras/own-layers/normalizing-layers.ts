import * as tf from "@tensorflow/tfjs-core";
import { axisOf, known, type OpenShape, type Options, type OwnLayer } from "./own-layer.ts";

/** The least that a number is divided by: `keras.config.epsilon()`. */
const EPSILON = 1e-7;

/** With its numbers in the options, or learned from data. */
const normalization: OwnLayer = {
  weights: (options, [shape]) => {
    if (options.mean !== null && options.mean !== undefined) return [];
    const sizes = normalizedAxes(options, shape!.length).map((axis) => known(shape![axis]));
    return [
      { name: "mean", shape: sizes, isFixed: true },
      { name: "variance", shape: sizes, isFixed: true },
      { name: "count", shape: [], isFixed: true },
    ];
  },
  call: ([x], options, { mean, variance }) => {
    const axes = normalizedAxes(options, x!.rank);
    const along = (value: tf.Tensor) => {
      const shape = x!.shape.map((size, axis) => (axes.includes(axis) ? size : 1));
      return value.size === 1 ? tf.reshape(value, []) : tf.reshape(value, shape);
    };
    const center = along(mean ?? tf.tensor(options.mean as number[]));
    const spread = tf.maximum(tf.sqrt(along(variance ?? tf.tensor(options.variance as number[]))), EPSILON);
    return options.invert === true ? tf.add(center, tf.mul(x!, spread)) : tf.div(tf.sub(x!, center), spread);
  },
};

function normalizedAxes({ axis }: Options, rank: number): number[] {
  if (axis === null || axis === undefined) return [];
  return [axis].flat().map((each) => axisOf(each, rank));
}

function channelWeights({ axis, scale, center }: Options, [shape]: readonly OpenShape[]) {
  const size = [known(shape![axisOf(axis, shape!.length)])];
  const gamma = scale === false ? [] : [{ name: "gamma", shape: size }];
  return [...gamma, ...(center === false ? [] : [{ name: "beta", shape: size }])];
}

/** Mean and variance over all places and the channels of a group; -1 groups are as many as channels. */
const groupNormalization: OwnLayer = {
  weights: channelWeights,
  call: ([x], { axis, groups, epsilon }, { gamma, beta }) => {
    const last = axisOf(axis, x!.rank);
    const channels = x!.shape[last]!;
    const count = groups === -1 ? channels : (groups as number);
    const order = [...x!.shape.keys()].filter((each) => each !== last).concat(last);
    const moved = tf.transpose(x!, order);
    const [batch = 1, ...places] = moved.shape.slice(0, -1);
    const size = places.reduce((product, each) => product * each, 1);
    const grouped = tf.reshape(moved, [batch, size, count, channels / count]);
    const { mean, variance } = tf.moments(grouped, [1, 3], true);
    const normal = tf.div(tf.sub(grouped, mean), tf.sqrt(tf.add(variance, epsilon as number)));
    const scaled = scaleAndShift(tf.reshape(normal, moved.shape), gamma, beta);
    return tf.transpose(
      scaled,
      order.map((_, index) => order.indexOf(index)),
    );
  },
};

function scaleAndShift(x: tf.Tensor, gamma: tf.Tensor | undefined, beta: tf.Tensor | undefined): tf.Tensor {
  const scaled = gamma === undefined ? x : tf.mul(x, gamma);
  return beta === undefined ? scaled : tf.add(scaled, beta);
}

const unitNormalization: OwnLayer = {
  call: ([x], { axis }) => {
    const axes = [axis].flat().map((each) => axisOf(each, x!.rank));
    const squares = tf.sum(tf.square(x!), axes, true);
    return tf.mul(x!, tf.rsqrt(tf.maximum(squares, 1e-12)));
  },
};

/** Along the last axis only, by its rule. */
const rmsNormalization: OwnLayer = {
  weights: (_, [shape]) => [{ name: "scale", shape: [known(shape!.at(-1))] }],
  call: ([x], { epsilon }, { scale }) => {
    const squares = tf.mean(tf.square(x!), -1, true);
    return tf.mul(tf.mul(x!, tf.rsqrt(tf.add(squares, epsilon as number))), scale!);
  },
};

const softmax: OwnLayer = {
  call: ([x], { axis }) => {
    const along = axisOf(axis, x!.rank);
    const order = [...x!.shape.keys()].filter((each) => each !== along).concat(along);
    const back = order.map((_, index) => order.indexOf(index));
    return tf.transpose(tf.softmax(tf.transpose(x!, order)), back);
  },
};

/** Layers that bring numbers to a common scale. */
export const NORMALIZING_LAYERS = {
  Normalization: normalization,
  GroupNormalization: groupNormalization,
  UnitNormalization: unitNormalization,
  RMSNormalization: rmsNormalization,
  Softmax: softmax,
} satisfies Readonly<Record<string, OwnLayer>>;
