import * as tf from "@tensorflow/tfjs-core";
import { activate, known, numbers, type OpenShape, type Options, type OwnLayer, type OwnWeight } from "./own-layer.ts";

function biasOf({ useBias, filters }: Options): OwnWeight[] {
  return useBias === false ? [] : [{ name: "bias", shape: [filters as number] }];
}

function finish(x: tf.Tensor, { activation }: Options, bias: tf.Tensor | undefined): tf.Tensor {
  return activate(bias === undefined ? x : tf.add(x, bias), activation);
}

/** The sizes of a convolution's result along its axes, as Keras has them. */
function convolved(options: Options, shape: OpenShape): OpenShape {
  const axes = shape.length - 2;
  const [kernel, strides] = [numbers(options.kernelSize, axes), numbers(options.strides ?? 1, axes)];
  const rates = numbers(options.dilationRate ?? 1, axes);
  const sizes = shape.slice(1, -1).map((size, axis) => {
    if (size === null) return null;
    const window = (kernel[axis]! - 1) * rates[axis]! + 1;
    const places = options.padding === "valid" ? size - window + 1 : size;
    return Math.ceil(places / strides[axis]!);
  });
  return [shape[0]!, ...sizes, options.filters as number];
}

/** A convolution of each group of channels by itself; a causal one sees nothing of what follows. */
const groupedConvolution: OwnLayer = {
  weights: (options, [shape]) => {
    const kernel = numbers(options.kernelSize, shape!.length - 2);
    const width = known(shape!.at(-1)) / (options.groups as number);
    return [{ name: "kernel", shape: [...kernel, width, options.filters as number] }, ...biasOf(options)];
  },
  outputShape: (options, [shape]) => convolved(options, shape!),
  call: ([x], options, { kernel, bias }) => {
    const groups = options.groups as number;
    const padded = options.padding === "causal" ? withPast(x!, options) : x!;
    const [parts, kernels] = [tf.split(padded, groups, -1), tf.split(kernel!, groups, -1)];
    const results = parts.map((part, index) => convolve(part, kernels[index]!, options));
    return finish(tf.concat(results, -1), options, bias);
  },
};

function withPast(x: tf.Tensor, options: Options): tf.Tensor {
  const [[size = 1], [rate = 1]] = [numbers(options.kernelSize, 1), numbers(options.dilationRate ?? 1, 1)];
  return tf.pad(x, [
    [0, 0],
    [(size - 1) * rate, 0],
    [0, 0],
  ]);
}

function convolve(x: tf.Tensor, kernel: tf.Tensor, options: Options): tf.Tensor {
  const axes = x.rank - 2;
  const [strides, rates] = [numbers(options.strides ?? 1, axes), numbers(options.dilationRate ?? 1, axes)];
  const padding = options.padding === "same" ? "same" : "valid";
  if (axes === 1) return tf.conv1d(x as tf.Tensor3D, kernel as tf.Tensor3D, strides[0]!, padding, "NWC", rates[0]!);
  const [s, r] = [strides as [number, number], rates as [number, number]];
  return tf.conv2d(x as tf.Tensor4D, kernel as tf.Tensor4D, s, padding, "NHWC", r);
}

/** A convolution of each channel, then one of single places, both along one axis. */
const separable: OwnLayer = {
  weights: (options, [shape]) => {
    const [size = 1] = numbers(options.kernelSize, 1);
    const [width, multiplier] = [known(shape!.at(-1)), options.depthMultiplier as number];
    return [
      { name: "depthwise_kernel", shape: [size, width, multiplier] },
      { name: "pointwise_kernel", shape: [1, width * multiplier, options.filters as number] },
      ...biasOf(options),
    ];
  },
  outputShape: (options, [shape]) => convolved(options, shape!),
  call: ([x], options, { depthwise_kernel: depthwise, pointwise_kernel: pointwise, bias }) => {
    const deep = alongOneAxis(x!, depthwise!, options);
    return finish(tf.conv1d(deep, pointwise as tf.Tensor3D, 1, "valid"), options, bias);
  },
};

function alongOneAxis(x: tf.Tensor, kernel: tf.Tensor, options: Options): tf.Tensor3D {
  const [stride = 1] = numbers(options.strides ?? 1, 1);
  const [rate = 1] = numbers(options.dilationRate ?? 1, 1);
  const image = tf.expandDims(x, 1) as tf.Tensor4D;
  const weights = tf.expandDims(kernel, 0) as tf.Tensor4D;
  const padding = options.padding as "valid" | "same";
  // A stride along the other axis, which has one place, changes nothing; TensorFlow.js takes equal ones only.
  return tf.squeeze(tf.depthwiseConv2d(image, weights, [stride, stride], padding, "NHWC", [1, rate]), [1]);
}

const depthwise1d: OwnLayer = {
  weights: (options, [shape]) => {
    const [size = 1] = numbers(options.kernelSize, 1);
    const [width, multiplier] = [known(shape!.at(-1)), options.depthMultiplier as number];
    return [
      { name: "kernel", shape: [size, width, multiplier] },
      ...biasOf({ ...options, filters: width * multiplier }),
    ];
  },
  outputShape: (options, [shape]) => {
    const filters = known(shape!.at(-1)) * (options.depthMultiplier as number);
    return convolved({ ...options, filters }, shape!);
  },
  call: ([x], options, { kernel, bias }) => finish(alongOneAxis(x!, kernel!, options), options, bias),
};

const transposed1d: OwnLayer = {
  weights: (options, [shape]) => {
    const [size = 1] = numbers(options.kernelSize, 1);
    return [{ name: "kernel", shape: [size, options.filters as number, known(shape!.at(-1))] }, ...biasOf(options)];
  },
  outputShape: (options, [shape]) => [shape![0]!, lengthOf(options, shape![1]!), options.filters as number],
  call: ([x], options, { kernel, bias }) => {
    const [batch, steps] = x!.shape as [number, number];
    const [stride = 1] = numbers(options.strides ?? 1, 1);
    const [image, weights] = [tf.expandDims(x!, 1), tf.expandDims(kernel!, 0)] as [tf.Tensor4D, tf.Tensor4D];
    const shape = [batch, 1, lengthOf(options, steps)!, options.filters as number] as [number, number, number, number];
    const result = tf.conv2dTranspose(image, weights, shape, [1, stride], options.padding as "same");
    return finish(tf.squeeze(result, [1]), options, bias);
  },
};

function lengthOf(options: Options, steps: number | null): number | null {
  const [[size = 1], [stride = 1]] = [numbers(options.kernelSize, 1), numbers(options.strides ?? 1, 1)];
  if (steps === null) return null;
  return options.padding === "valid" ? steps * stride + Math.max(size - stride, 0) : steps * stride;
}

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

/** Convolutions that tfjs-layers lacks, and layers without weights. */
export const CONVOLUTION_AND_SHAPING = {
  GroupedConvolution: groupedConvolution,
  SeparableConv1D: separable,
  DepthwiseConv1D: depthwise1d,
  Conv1DTranspose: transposed1d,
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
