import { backend_util, type NamedAttrMap, type NamedTensorInfoMap, type TensorInfo } from "@tensorflow/tfjs-core";
import { invalidArgument, ServingError } from "../../../errors.ts";
import { elementCount } from "../../../tensor/tensor.ts";

/** Checks if WebAssembly's kernel would fail, give wrong numbers, or write beyond its output. */
type Defect = (inputs: NamedTensorInfoMap, attrs: NamedAttrMap | undefined) => boolean;

/** Defects of tfjs-backend-wasm 4.22, by kernel; each was seen by comparison with the JavaScript backend. */
export const WASM_DEFECTS: Readonly<Record<string, Defect>> = {
  /** Knows rank-2 and higher matrices of float32 only. */
  BatchMatMul: ({ a }) => a?.dtype !== "float32",
  /** Keeps the low byte of a number, so that 256 is false and 2 is neither. */
  Cast: (_, attrs) => attrs?.dtype === "bool",
  /** Reads integers as floats. */
  ClipByValue: ({ x }) => x?.dtype !== "float32",
  MaxPool: ({ x }) => x?.dtype !== "float32",
  /** Has the least positive number for the least of all, and gives that for windows without positive numbers. */
  MaxPool3D: () => true,
  /** Repeats alpha over the whole of x, whatever their shapes. */
  Prelu: ({ x, alpha }) => x?.dtype !== "float32" || !isTail(alpha?.shape ?? [], x.shape),
  /** Gives floats. */
  ResizeNearestNeighbor: ({ images }) => images?.dtype !== "float32",
  /** Moves four bytes for each element. */
  Reverse: ({ x }) => x?.dtype === "bool",
  /** Writes four bytes for each element. */
  Select: ({ t }) => t?.dtype === "bool",
  /** Calls integers floats if it takes steps. */
  StridedSlice: ({ x }) => x?.dtype !== "float32",
};

/** Checks that a shape, leading ones apart, is that of a tensor's last dimensions. */
function isTail(shape: readonly number[], whole: readonly number[]): boolean {
  const start = shape.findIndex((size) => size !== 1);
  const tail = start === -1 ? [] : shape.slice(start);
  return tail.length <= whole.length && tail.every((size, index) => size === whole[whole.length - tail.length + index]);
}

/** A call whose inputs' elements can be read. */
interface ReadableCall extends KernelCall {
  readonly read: (info: TensorInfo) => ArrayLike<number>;
}

/** Checks if a call reads or writes outside of its tensors. */
type Outside = (call: ReadableCall) => boolean;

/**
 * The kernels of tfjs-backend-wasm 4.22 that use the elements of an input as positions
 * and do not compare them with any size: they would read what other requests left in
 * memory, or write over it. JavaScript's kernels throw, or leave those elements out.
 */
export const WASM_BOUNDS: Readonly<Record<string, Outside>> = {
  Bincount: ({ inputs: { x }, attrs: { size }, read }) => areOutside(read(x!), [size as number]),
  CropAndResize: ({ inputs: { image, boxInd }, read }) => areOutside(read(boxInd!), [image!.shape[0]!]),
  DenseBincount: ({ inputs: { x }, attrs: { size }, read }) => areOutside(read(x!), [size as number]),
  GatherNd: ({ inputs: { params, indices }, read }) => tuplesAreOutside(indices, params?.shape, read),
  OneHot: ({ inputs: { indices }, attrs: { depth }, read }) => areOutside(read(indices!), [depth as number]),
  PadV2: ({ attrs: { paddings } }) => (paddings as number[][]).flat().some((size) => size < 0),
  ScatterNd: ({ inputs: { indices }, attrs: { shape }, read }) => tuplesAreOutside(indices, shape as number[], read),
  SparseToDense: ({ inputs: { sparseIndices }, attrs: { outputShape }, read }) =>
    tuplesAreOutside(sparseIndices, outputShape as number[], read),
  TensorScatterUpdate: ({ inputs: { tensor, indices }, read }) => tuplesAreOutside(indices, tensor?.shape, read),
};

/** Checks if any position, one of each size after the other, is beyond its size. */
function areOutside(positions: ArrayLike<number>, sizes: readonly number[]): boolean {
  for (let index = 0; index < positions.length; index++) {
    const position = positions[index]!;
    if (!(position >= 0 && position < sizes[index % sizes.length]!)) return true;
  }
  return false;
}

/**
 * The last dimension has one position for each of the first dimensions of a shape; a
 * list without it has positions in the first.
 */
function tuplesAreOutside(
  indices: TensorInfo | undefined,
  shape: readonly number[] = [],
  read: ReadableCall["read"],
): boolean {
  const length = indices === undefined || indices.shape.length < 2 ? 1 : indices.shape.at(-1)!;
  if (indices === undefined || length > shape.length) return true;
  return length > 0 && areOutside(read(indices), shape.slice(0, length));
}

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

/** Throws `invalid_argument` or `resource_exhausted` if a kernel is not to be run for the size of its output. */
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

/** Kernels that run along an axis never end if there is none such. */
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

/** A convolution of the result must give the kernel's input. */
function fitting(shape: readonly number[], given: readonly number[], expected: readonly number[]): readonly number[] {
  if (given.join() === expected.join()) return shape;
  throw invalidArgument(
    `The input sizes [${shape}] of a transposed convolution do not fit: a convolution of them is [${expected}], but its input has the shape [${given}].`,
  );
}

/** A gigabyte of numbers of 32 bits: a quarter of what WebAssembly can address. */
const MAX_ELEMENTS = 2 ** 28;
/** A gigabyte of the references that a list of texts has. */
const MAX_TEXTS = 2 ** 24;

/**
 * The number of elements of a tensor that is to be made; throws `invalid_argument` for sizes that are none, and
 * `resource_exhausted` for more elements than memory is given for, before any is taken.
 */
export function sizeOfNew(shape: readonly number[], what: string, isText = false): number {
  if (!shape.every((size) => Number.isSafeInteger(size) && size >= 0)) {
    throw invalidArgument(`${what} would have the shape [${shape}]: every size must be a whole number of 0 or more.`);
  }
  const count = elementCount(shape);
  const most = isText ? MAX_TEXTS : MAX_ELEMENTS;
  // As in TensorFlow, also the sizes of a tensor without elements have a product.
  if (count <= most && shape.reduce((product, size) => product * Math.max(size, 1), 1) <= Number.MAX_SAFE_INTEGER) {
    return count;
  }
  const reason = `which is more than the ${most} that a tensor may have here`;
  throw new ServingError("resource_exhausted", `${what} would have the shape [${shape}], ${reason}.`);
}
