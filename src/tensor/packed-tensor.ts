import { invalidArgument } from "../errors.ts";
import type { NumericDType } from "./dtype.ts";
import { isGone, type PackedBytes, packedOf, setPacked } from "./packed-bytes.ts";
import { createTensor, createTensors, elementCount, type Tensor, type Tensors } from "./tensor.ts";

/** Maximum number of elements, and of bytes, that are unpacked immediately: a getter takes longer than they do. */
const FEW_ELEMENTS = 16;
const FEW_BYTES = 64 * 1024;

/**
 * A `bytes` tensor whose elements stay packed until `data` is read, which makes a view for each of them, once. Throws
 * `invalid_argument` unless there are as many elements as `shape` claims.
 */
export function createPackedTensor(shape: readonly number[], packed: PackedBytes): Tensor<"bytes"> {
  const count = packed.ranges.length / 2;
  if (elementCount(shape) !== count) {
    throw invalidArgument(
      `A bytes tensor of shape [${shape}] has ${elementCount(shape)} values, but ${count} were given.`,
    );
  }
  if (count <= FEW_ELEMENTS && packed.byteLength <= FEW_BYTES) return { dtype: "bytes", shape, data: unpack(packed) };
  const tensor = { dtype: "bytes", shape } as unknown as Tensor<"bytes">;
  const get = () => {
    const data = unpack(packed);
    Object.defineProperty(tensor, "data", { value: data, enumerable: true, writable: true });
    // A hook may change the tensors that it received.
    setPacked(tensor, undefined);
    return data;
  };
  // Own and enumerable, so that a hook may spread the tensor.
  Object.defineProperty(tensor, "data", { get, enumerable: true, configurable: true });
  setPacked(tensor, packed);
  return tensor;
}

/**
 * The same elements in another shape, packed if they were; throws `invalid_argument` unless the shape claims as many.
 */
export function reshape(tensor: Tensor, shape: readonly number[]): Tensor {
  const packed = packedOf(tensor);
  if (packed !== undefined) return createPackedTensor(shape, packed);
  return createTensor(tensor.dtype, shape, tensor.data as never);
}

function unpack(packed: PackedBytes): Uint8Array[] {
  const { content, ranges } = packed;
  if (isGone(packed)) return [];
  const elements: Uint8Array[] = [];
  for (let at = 0; at < ranges.length; at += 2) elements.push(content.subarray(ranges[at], ranges[at + 1]));
  return elements;
}

/** Copies of tensors in their own memory, which stay valid when the originals are transferred. */
export function copyTensors(tensors: Tensors): Tensors {
  return createTensors(Object.entries(tensors).map(([name, tensor]) => [name, copyTensor(tensor)]));
}

/** A copy of one tensor in its own memory. */
export function copyTensor(tensor: Tensor): Tensor {
  if (tensor.dtype !== "bytes") return { ...tensor, data: copyNumbers(tensor.data) } as Tensor;
  const packed = packedOf(tensor);
  if (packed !== undefined) {
    const { content, ranges, byteLength } = packed;
    return createPackedTensor(tensor.shape, { content: new Uint8Array(content), ranges: ranges.slice(), byteLength });
  }
  return { ...tensor, data: tensor.data.map((element) => new Uint8Array(element)) };
}

/** Node's Buffer, which carries uint8, has a `slice` that copies nothing. */
function copyNumbers<Data extends Tensor<NumericDType>["data"]>(data: Data) {
  return data instanceof Uint8Array ? new Uint8Array(data) : data.slice();
}
