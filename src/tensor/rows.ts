import { invalidArgument } from "../errors.ts";
import { type NumericData, numericLayout } from "./dtype.ts";
import { createTensor, elementCount, type Tensor } from "./tensor.ts";

/** The first dimension; undefined for rank 0. */
export function rowCount(tensor: Tensor): number | undefined {
  return tensor.shape[0];
}

/** Rows `start` to `end` (excluded) as a tensor that views the same memory. */
export function sliceRows(tensor: Tensor, start: number, end: number): Tensor {
  const width = rowWidth(tensor);
  const data = sliceOf(tensor, start * width, end * width);
  return createTensor(tensor.dtype, [end - start, ...tensor.shape.slice(1)], data as never);
}

/** Copies of the rows in their own memory, which can be transferred while their neighbours stay. */
export function copyRows(tensor: Tensor, start: number, end: number): Tensor {
  const width = rowWidth(tensor);
  const data = tensor.data.slice(start * width, end * width);
  return createTensor(tensor.dtype, [end - start, ...tensor.shape.slice(1)], data as never);
}

/** Tensors of one dtype and row shape, one behind the other along the first dimension. */
export function concatRows(tensors: readonly Tensor[]): Tensor {
  const [first] = tensors as readonly [Tensor];
  const rows = tensors.reduce((sum, tensor) => sum + (rowCount(tensor) ?? 0), 0);
  const shape = [rows, ...first.shape.slice(1)];
  if (first.dtype === "bytes") {
    return createTensor(
      "bytes",
      shape,
      tensors.flatMap((tensor) => tensor.data as readonly Uint8Array[]),
    );
  }
  const { array, slots } = numericLayout(first.dtype);
  const data = new array(elementCount(shape) * slots);
  let position = 0;
  for (const tensor of tensors) {
    (data as Float32Array).set(tensor.data as Float32Array, position);
    position += tensor.data.length;
  }
  return createTensor(first.dtype, shape, data as never);
}

/** The tensor made larger to `shape` (no dimension smaller), the new places filled with its own first element. */
export function padTo(tensor: Tensor, shape: readonly number[]): Tensor {
  if (shape.every((size, axis) => size === tensor.shape[axis])) return tensor;
  if (tensor.data.length === 0)
    throw invalidArgument("An empty tensor cannot be padded: it has no element to pad with.");
  const data = paddedData(tensor, shape);
  return createTensor(tensor.dtype, shape, data as never);
}

function paddedData(tensor: Tensor, shape: readonly number[]): ArrayLike<unknown> {
  const slots = tensor.dtype === "bytes" ? 1 : numericLayout(tensor.dtype).slots;
  const count = elementCount(shape);
  const target: unknown[] | NumericData =
    tensor.dtype === "bytes" ? new Array(count) : new (numericLayout(tensor.dtype).array)(count * slots);
  const source = tensor.data as ArrayLike<unknown>;
  for (let index = 0; index < count; index++) {
    const from = sourceIndex(index, tensor.shape, shape);
    for (let slot = 0; slot < slots; slot++) target[index * slots + slot] = source[from * slots + slot] as never;
  }
  return target;
}

/** Index in the smaller shape of an element of the larger one; 0, the first element, outside of it. */
function sourceIndex(index: number, small: readonly number[], large: readonly number[]): number {
  let rest = index;
  let from = 0;
  let stride = 1;
  for (let axis = large.length - 1; axis >= 0; axis--) {
    const size = large[axis]!;
    const position = rest % size;
    if (position >= small[axis]!) return 0;
    from += position * stride;
    stride *= small[axis]!;
    rest = Math.floor(rest / size);
  }
  return from;
}

function rowWidth(tensor: Tensor): number {
  const slots = tensor.dtype === "bytes" ? 1 : numericLayout(tensor.dtype).slots;
  return elementCount(tensor.shape.slice(1)) * slots;
}

function sliceOf(tensor: Tensor, start: number, end: number): unknown {
  return tensor.dtype === "bytes" ? tensor.data.slice(start, end) : tensor.data.subarray(start, end);
}
