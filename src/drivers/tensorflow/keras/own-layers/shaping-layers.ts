import * as tf from "@tensorflow/tfjs-core";
import { numbers, type OpenShape, type Options, type OwnLayer } from "./own-layer.ts";

type Pair = [before: number, after: number];

/** The places before and after each axis but the first and the last: a number, a pair, or pairs. */
function pairsOf(value: unknown, axes: number): Pair[] {
  if (!Array.isArray(value)) return new Array<Pair>(axes).fill([value as number, value as number]);
  if (axes === 1) return [value as Pair];
  return value.map((each) => (Array.isArray(each) ? (each as Pair) : [each as number, each as number]));
}

function padding(axes: number): OwnLayer {
  return {
    outputShape: ({ padding: value }, [shape]) => changed(shape!, pairsOf(value, axes), 1),
    call: ([x], { padding: value }) => tf.pad(x!, [[0, 0], ...pairsOf(value, axes), [0, 0]]),
  };
}

function cropping(axes: number): OwnLayer {
  return {
    outputShape: ({ cropping: value }, [shape]) => changed(shape!, pairsOf(value, axes), -1),
    call: ([x], { cropping: value }) => {
      const pairs = [[0, 0], ...pairsOf(value, axes), [0, 0]] as Pair[];
      const sizes = x!.shape.map((size, axis) => size - pairs[axis]![0] - pairs[axis]![1]);
      return tf.slice(
        x!,
        pairs.map(([before]) => before),
        sizes,
      );
    },
  };
}

function changed(shape: OpenShape, pairs: readonly Pair[], sign: 1 | -1): OpenShape {
  return shape.map((size, axis) => {
    const pair = pairs[axis - 1];
    return size === null || pair === undefined ? size : size + sign * (pair[0] + pair[1]);
  });
}

function upSampling(axes: number): OwnLayer {
  return {
    outputShape: ({ size }, [shape]) => {
      const times = [1, ...numbers(size, axes), 1];
      return shape!.map((each, axis) => (each === null ? null : each * times[axis]!));
    },
    call: ([x], { size }) => numbers(size, axes).reduce((y, times, index) => repeat(y, index + 1, times), x!),
  };
}

/** Each place of an axis several times in a row. */
function repeat(x: tf.Tensor, axis: number, times: number): tf.Tensor {
  const wide = [...x.shape.slice(0, axis + 1), 1, ...x.shape.slice(axis + 1)];
  const reps = wide.map((_, index) => (index === axis + 1 ? times : 1));
  const shape = x.shape.map((size, index) => (index === axis ? size * times : size));
  return tf.reshape(tf.tile(tf.reshape(x, wide), reps), shape);
}

function globalPooling(reduce: (x: tf.Tensor, axes: number[], keepDims: boolean) => tf.Tensor): OwnLayer {
  const axesOf = (rank: number, { dataFormat }: Options) =>
    Array.from({ length: rank - 2 }, (_, axis) => axis + (dataFormat === "channels_first" ? 2 : 1));
  return {
    outputShape: (options, [shape]) => {
      const axes = axesOf(shape!.length, options);
      if (options.keepdims !== true) return shape!.filter((_, axis) => !axes.includes(axis));
      return shape!.map((size, axis) => (axes.includes(axis) ? 1 : size));
    },
    call: ([x], options) => reduce(x!, axesOf(x!.rank, options), options.keepdims === true),
  };
}

const subtract: OwnLayer = {
  outputShape: (_, [a, b]) => {
    const rank = Math.max(a!.length, b!.length);
    return Array.from({ length: rank }, (_each, axis) => {
      const [m, n] = [a![axis - rank + a!.length] ?? null, b![axis - rank + b!.length] ?? null];
      return m === 1 ? n : m;
    });
  },
  call: ([a, b]) => tf.sub(a!, b!),
};

/** Layers without weights. */
export const SHAPING_LAYERS = {
  Subtract: subtract,
  Identity: { call: ([x]) => tf.clone(x!) },
  ZeroPadding1D: padding(1),
  ZeroPadding3D: padding(3),
  Cropping1D: cropping(1),
  Cropping3D: cropping(3),
  UpSampling1D: upSampling(1),
  UpSampling3D: upSampling(3),
  GlobalAverage: globalPooling(tf.mean),
  GlobalMax: globalPooling(tf.max),
} satisfies Readonly<Record<string, OwnLayer>>;
