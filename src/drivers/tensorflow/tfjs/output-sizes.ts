import { backend_util, type NamedAttrMap, type TensorInfo } from "@tensorflow/tfjs-core";
import { invalidArgument } from "../../../errors.ts";
import { sizeOfNew } from "./tensor-size.ts";

/** The call of a kernel. Its inputs are a list in some kernels. */
interface KernelCall {
  readonly inputs: Readonly<Record<string, TensorInfo>>;
  readonly attrs: NamedAttrMap;
}

/** The shape of what a kernel gives; throws `invalid_argument` for attributes that do not fit its inputs. */
type OutputShape = (call: KernelCall) => readonly number[];

/**
 * The kernels whose output's size comes from values, which may be a request's. TensorFlow.js allocates whatever they
 * say, and some kernels then leave most of it as it was in memory, or trap.
 */
const OUTPUT_SHAPES: Readonly<Record<string, OutputShape>> = {
  BatchToSpaceND: ({ inputs: { x }, attrs }) =>
    batchToSpace(shapeOf(x), attrs.blockShape as number[], pairs(attrs.crops)),
  Bincount: ({ attrs: { size } }) => [size as number],
  Conv2DBackpropInput: ({ inputs: { dy, filter }, attrs }) => {
    const [shape, weights] = [attrs.inputShape as Four, shapeOf(filter) as Four];
    sizeOfNew(shape, "The result of Conv2DBackpropInput");
    const format = backend_util.convertConv2DDataFormat(attrs.dataFormat as "NHWC");
    const { strides, pad, dimRoundingMode } = attrs;
    const rounding = dimRoundingMode as "floor" | undefined;
    const { outShape } = backend_util.computeConv2DInfo(
      shape,
      weights,
      strides as number,
      1,
      pad as "same",
      rounding,
      false,
      format,
    );
    return fitting(shape, shapeOf(dy), outShape);
  },
  Conv3DBackpropInputV2: ({ inputs: { dy, filter }, attrs }) => {
    const shape = attrs.inputShape as Five;
    sizeOfNew(shape, "The result of Conv3DBackpropInputV2");
    const weights = shapeOf(filter) as Five;
    const { outShape } = backend_util.computeConv3DInfo(
      shape,
      weights,
      attrs.strides as number,
      1,
      attrs.pad as "same",
    );
    return fitting(shape, shapeOf(dy), outShape);
  },
  CropAndResize: ({ inputs: { image, boxes }, attrs: { cropSize } }) => [
    shapeOf(boxes)[0]!,
    ...(cropSize as number[]),
    shapeOf(image)[3]!,
  ],
  Cumprod: ({ inputs: { x }, attrs: { axis } }) => along(shapeOf(x), axis as number),
  Cumsum: ({ inputs: { x }, attrs: { axis } }) => along(shapeOf(x), axis as number),
  DenseBincount: ({ inputs: { x }, attrs: { size } }) => [...shapeOf(x).slice(0, -1), size as number],
  Fill: ({ attrs: { shape } }) => shape as number[],
  LinSpace: ({ attrs: { num } }) => [num as number],
  MirrorPad: ({ inputs: { x }, attrs: { paddings } }) => padded(shapeOf(x), pairs(paddings)),
  Multinomial: ({ inputs: { logits }, attrs: { numSamples } }) => [shapeOf(logits)[0]!, numSamples as number],
  OneHot: ({ inputs: { indices }, attrs: { depth } }) => [...shapeOf(indices), depth as number],
  PadV2: ({ inputs: { x }, attrs: { paddings } }) => padded(shapeOf(x), pairs(paddings)),
  Range: ({ attrs: { start, stop, step } }) => [
    Math.max(Math.ceil(((stop as number) - (start as number)) / (step as number)), 0),
  ],
  ResizeBilinear: ({ inputs: { images }, attrs: { size } }) => resized(shapeOf(images), size as number[]),
  ResizeNearestNeighbor: ({ inputs: { images }, attrs: { size } }) => resized(shapeOf(images), size as number[]),
  ScatterNd: ({ attrs: { shape } }) => shape as number[],
  SpaceToBatchND: ({ inputs: { x }, attrs: { paddings } }) => padded(shapeOf(x), [[0, 0], ...pairs(paddings)]),
  SparseToDense: ({ attrs: { outputShape } }) => outputShape as number[],
  Tile: ({ inputs: { x }, attrs: { reps } }) => shapeOf(x).map((size, axis) => size * (reps as number[])[axis]!),
  TopK: ({ inputs: { x }, attrs: { k } }) => [...shapeOf(x).slice(0, -1), k as number],
  Transform: ({ inputs: { image }, attrs: { outputShape } }) => resized(shapeOf(image), outputShape as number[]),
  UnsortedSegmentSum: ({ inputs: { x, segmentIds }, attrs: { numSegments } }) => [
    numSegments as number,
    ...shapeOf(x).slice(shapeOf(segmentIds).length),
  ],
};

type Four = [number, number, number, number];
type Five = [number, number, number, number, number];

/** Throws `invalid_argument` or `resource_exhausted` where a kernel is not to be run for the size of its output. */
export function checkOutputSize(kernelName: string, inputs: unknown, attrs: NamedAttrMap): void {
  const shapeOfOutput = OUTPUT_SHAPES[kernelName];
  if (shapeOfOutput === undefined) return;
  const given = inputs as KernelCall["inputs"];
  const isText = Object.values(given).some((info) => info?.dtype === "string");
  sizeOfNew(shapeOfOutput({ inputs: given, attrs }), `The result of ${kernelName}`, isText);
}

function shapeOf(info: TensorInfo | undefined): readonly number[] {
  return info?.shape ?? [];
}

function pairs(value: unknown): readonly (readonly [number, number])[] {
  return value as readonly (readonly [number, number])[];
}

function padded(shape: readonly number[], paddings: readonly (readonly [number, number])[]): number[] {
  const isNegative = paddings.flat().some((size) => size < 0);
  if (isNegative) throw invalidArgument(`Paddings must be non-negative, not [${paddings.flat()}].`);
  return shape.map((size, axis) => size + (paddings[axis]?.[0] ?? 0) + (paddings[axis]?.[1] ?? 0));
}

function resized([batch = 0, height = 0, width = 0, depth = 0]: readonly number[], size?: readonly number[]): number[] {
  const [rows = 0, columns = 0] = size ?? [height, width];
  if (rows > 0 && columns > 0) return [batch, rows, columns, depth];
  throw invalidArgument(`The size of an image must be positive, not [${rows},${columns}].`);
}

/** Kernels that run along an axis never end where there is none such. */
function along(shape: readonly number[], axis: number): readonly number[] {
  if (axis >= -shape.length && axis < shape.length) return shape;
  throw invalidArgument(`Axis ${axis} is not within [-${shape.length}, ${shape.length}).`);
}

function batchToSpace(
  shape: readonly number[],
  blocks: readonly number[],
  crops: readonly (readonly [number, number])[],
): number[] {
  if (crops.flat().some((size) => size < 0))
    throw invalidArgument(`Crops must be non-negative, not [${crops.flat()}].`);
  const blockSize = blocks.reduce((product, size) => product * size, 1);
  return shape.map((size, axis) => {
    if (axis === 0) return size / blockSize;
    const block = blocks[axis - 1];
    return block === undefined ? size : size * block - crops[axis - 1]![0] - crops[axis - 1]![1];
  });
}

/** A convolution of what is to be made must give what the kernel gets. */
function fitting(shape: readonly number[], given: readonly number[], expected: readonly number[]): readonly number[] {
  if (given.join() === expected.join()) return shape;
  throw invalidArgument(
    `The input sizes [${shape}] of a transposed convolution do not fit: a convolution of them is [${expected}], but its input has the shape [${given}].`,
  );
}
