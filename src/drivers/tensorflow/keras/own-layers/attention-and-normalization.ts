import * as tf from "@tensorflow/tfjs-core";
import { activate, axisOf, known, type OpenShape, type Options, type OwnLayer, type OwnWeight } from "./own-layer.ts";

/** The sizes of an attention's heads. */
interface Heads {
  readonly heads: number;
  readonly keySize: number;
  readonly valueSize: number;
}

function headsOf({ numHeads, keyDim, valueDim }: Options): Heads {
  return { heads: numHeads as number, keySize: keyDim as number, valueSize: (valueDim ?? keyDim) as number };
}

/** Inputs are the query, the value, and the key if it is another. */
const multiHeadAttention: OwnLayer = {
  weights: (options, [query, value, key = value]) => {
    const { heads, keySize, valueSize } = headsOf(options);
    const size = outputSize(options, query!);
    const dense = (name: string, kernel: readonly number[], bias: readonly number[]): OwnWeight[] => {
      const part = { name, group: `${name.replace("attention_", "")}_dense` };
      return [
        { part, name: "kernel", shape: kernel },
        ...(options.useBias === false ? [] : [{ part, name: "bias", shape: bias }]),
      ];
    };
    const project = (part: string, shape: OpenShape, width: number) =>
      dense(part, [known(shape.at(-1)), heads, width], [heads, width]);
    return [
      ...project("query", query!, keySize),
      ...project("key", key!, keySize),
      ...project("value", value!, valueSize),
      ...dense("attention_output", [heads, valueSize, size], [size]),
    ];
  },
  outputShape: (options, [query]) => [...query!.slice(0, -1), outputSize(options, query!)],
  call: ([query, value, key = value], options, weights) => {
    const { heads, keySize, valueSize } = headsOf(options);
    const q = split(project(query!, "query", weights), heads, keySize);
    const k = split(project(key!, "key", weights), heads, keySize);
    const v = split(project(value!, "value", weights), heads, valueSize);
    const scores = tf.matMul(tf.mul(q, 1 / Math.sqrt(keySize)), k, false, true);
    const mixed = tf.matMul(tf.softmax(scores), v);
    const [batch, , steps] = mixed.shape as [number, number, number];
    const joined = tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [batch, steps, heads * valueSize]);
    return project(joined, "attention_output", weights);
  },
};

function outputSize({ outputShape }: Options, query: OpenShape): number {
  return ([outputShape].flat()[0] as number | null | undefined) ?? known(query.at(-1));
}

/** The last axis by a kernel whose first axes, or last ones, are those of heads. */
function project(x: tf.Tensor, part: string, weights: Readonly<Record<string, tf.Tensor>>): tf.Tensor {
  const [kernel, bias] = [weights[`${part}/kernel`]!, weights[`${part}/bias`]];
  const width = x.shape.at(-1)!;
  const matrix = tf.reshape(kernel, [width, kernel.size / width]) as tf.Tensor2D;
  const flat = tf.matMul(tf.reshape(x, [-1, width]) as tf.Tensor2D, matrix);
  const product = tf.reshape(flat, [...x.shape.slice(0, -1), kernel.size / width]);
  return bias === undefined ? product : tf.add(product, tf.reshape(bias, [-1]));
}

/** [batch, heads, steps, size]. */
function split(x: tf.Tensor, heads: number, size: number): tf.Tensor {
  const [batch, steps] = x.shape as [number, number];
  return tf.transpose(tf.reshape(x, [batch, steps, heads, size]), [0, 2, 1, 3]);
}

/** Inputs are the query, the value, and the key if it is another. */
const attention: OwnLayer = {
  weights: ({ useScale }) => (useScale === true ? [{ name: "scale", shape: [] }] : []),
  outputShape: (_, [query, value]) => [...query!.slice(0, -1), value!.at(-1)!],
  call: ([query, value, key = value], _, { scale }) => {
    const product = tf.matMul(query!, key!, false, true);
    return tf.matMul(tf.softmax(scale === undefined ? product : tf.mul(product, scale)), value!);
  },
};

const additiveAttention: OwnLayer = {
  weights: ({ useScale }, [query]) => (useScale === false ? [] : [{ name: "scale", shape: [known(query!.at(-1))] }]),
  outputShape: (_, [query, value]) => [...query!.slice(0, -1), value!.at(-1)!],
  call: ([query, value, key = value], _, { scale }) => {
    const sums = tf.tanh(tf.add(tf.expandDims(query!, -2), tf.expandDims(key!, -3)));
    const scores = tf.sum(scale === undefined ? sums : tf.mul(sums, scale), -1);
    return tf.matMul(tf.softmax(scores), value!);
  },
};

/** A product by letters, which are sizes of the input, of the kernel, and of the result. */
const einsumDense: OwnLayer = {
  weights: ({ equation, outputShape, biasAxes }, [shape]) => {
    const [input = "", kernel = "", output = ""] = (equation as string).split(/,|->/);
    const given = [outputShape].flat() as (number | null)[];
    const sizes = new Map<string, number | null>();
    for (const [axis, letter] of [...output].entries())
      sizes.set(letter, given[axis - output.length + given.length] ?? null);
    for (const [axis, letter] of [...input].entries()) sizes.set(letter, shape![axis] ?? sizes.get(letter) ?? null);
    const shapeOf = (letters: string) => [...letters].map((letter) => known(sizes.get(letter)));
    const first = Math.min(...[...((biasAxes ?? "") as string)].map((letter) => output.indexOf(letter)));
    const bias = [...output.slice(first)].map((letter) => ((biasAxes as string).includes(letter) ? letter : ""));
    const weights: OwnWeight[] = [{ name: "kernel", shape: shapeOf(kernel) }];
    if (!biasAxes) return weights;
    return [...weights, { name: "bias", shape: bias.map((letter) => (letter === "" ? 1 : known(sizes.get(letter)))) }];
  },
  outputShape: ({ equation, outputShape }, [shape]) => {
    const [input = "", , output = ""] = (equation as string).split(/,|->/);
    const given = [outputShape].flat() as (number | null)[];
    return [...output].map((letter, axis) => {
      const size = given[axis - output.length + given.length];
      return size ?? shape![input.indexOf(letter)] ?? null;
    });
  },
  call: ([x], { equation, activation }, { kernel, bias }) => {
    const product = tf.einsum(equation as string, x!, kernel!);
    return activate(bias === undefined ? product : tf.add(product, bias), activation);
  },
};

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

/** Layers that weigh places against each other, products by letters, and layers that scale numbers alike. */
export const ATTENTION_AND_NORMALIZATION = {
  MultiHeadAttention: multiHeadAttention,
  Attention: attention,
  AdditiveAttention: additiveAttention,
  EinsumDense: einsumDense,
  Normalization: normalization,
  GroupNormalization: groupNormalization,
  UnitNormalization: unitNormalization,
  RMSNormalization: rmsNormalization,
  Softmax: softmax,
} satisfies Readonly<Record<string, OwnLayer>>;
