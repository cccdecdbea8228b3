import type { NamedAttrMap, TensorInfo } from "@tensorflow/tfjs-core";

/** The inputs of a kernel, and their elements. */
interface KernelCall {
  readonly inputs: Readonly<Record<string, TensorInfo>>;
  readonly attrs: NamedAttrMap;
  readonly read: (info: TensorInfo) => ArrayLike<number>;
}

/** Checks if a call reads or writes outside of its tensors. */
type Outside = (call: KernelCall) => boolean;

/**
 * The kernels of tfjs-backend-wasm 4.22 that use the elements of an input as positions
 * and do not compare them with any size: they would read what other requests left in
 * memory, or write over it. JavaScript's kernels throw, or leave those elements out.
 */
export const WASM_BOUNDS: Readonly<Record<string, Outside>> = {
  Bincount: ({ inputs: { x }, attrs: { size }, read }) => areOutside(read(x as TensorInfo), [size as number]),
  CropAndResize: ({ inputs: { image, boxInd }, read }) =>
    areOutside(read(boxInd as TensorInfo), [image?.shape[0] as number]),
  DenseBincount: ({ inputs: { x }, attrs: { size }, read }) => areOutside(read(x as TensorInfo), [size as number]),
  GatherNd: ({ inputs: { params, indices }, read }) => tuplesAreOutside(indices, params?.shape, read),
  OneHot: ({ inputs: { indices }, attrs: { depth }, read }) =>
    areOutside(read(indices as TensorInfo), [depth as number]),
  PadV2: ({ attrs: { paddings } }) => (paddings as number[][]).flat().some((size) => size < 0),
  ScatterNd: ({ inputs: { indices }, attrs: { shape }, read }) => tuplesAreOutside(indices, shape as number[], read),
  SparseToDense: ({ inputs: { sparseIndices }, attrs: { outputShape }, read }) =>
    tuplesAreOutside(sparseIndices, outputShape as number[], read),
  TensorScatterUpdate: ({ inputs: { tensor, indices }, read }) => tuplesAreOutside(indices, tensor?.shape, read),
};

/** Checks if any position, one of each size after the other, is beyond its size. */
function areOutside(positions: ArrayLike<number>, sizes: readonly number[]): boolean {
  for (let index = 0; index < positions.length; index++) {
    const position = positions[index] as number;
    if (!(position >= 0 && position < (sizes[index % sizes.length] as number))) return true;
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
  read: KernelCall["read"],
): boolean {
  const length = indices === undefined || indices.shape.length < 2 ? 1 : (indices.shape.at(-1) as number);
  if (indices === undefined || length > shape.length) return true;
  return length > 0 && areOutside(read(indices), shape.slice(0, length));
}
