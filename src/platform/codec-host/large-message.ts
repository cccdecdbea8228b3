import { byteSize, elementCount, type Tensor, type Tensors } from "../../tensor/tensor.ts";

/**
 * Messages above this size, in bytes, are decoded and encoded in a codec thread. What
 * takes longest of that size keeps the main thread for some five milliseconds; what
 * takes least, for a tenth of one, which is what going to a thread costs.
 */
export const LARGE_MESSAGE_BYTES = 64 * 1024;
/** The same for values that cost more than their bytes: elements of `bytes` tensors, numbers that become text. */
export const MANY_ELEMENTS = 8 * 1024;

/** Size from which values are not copied in the main thread, in bytes. */
export const LARGE_COPY_BYTES = 1024 * 1024;

/** Checks if the elements of a `bytes` tensor are too many, or too large, to be written in the main thread. */
export function isLargeBytes(tensor: Tensor): boolean {
  if (tensor.dtype !== "bytes") return false;
  return elementCount(tensor.shape) > MANY_ELEMENTS || byteSize(tensor) > LARGE_COPY_BYTES;
}

/** Size from which a codec thread copies values into a message, if their memory can be transferred, in bytes. */
const LONG_COPY_BYTES = 8 * 1024 * 1024;

/**
 * Checks if copying so many bytes into a message is work for a codec thread: memory that has to stay here would be
 * copied for the thread.
 */
export function isLongCopy(bytes: number, mayTransfer: boolean): boolean {
  return bytes > LONG_COPY_BYTES && mayTransfer;
}

/** Checks the same for the values of tensors, of which many texts take long in any case. */
export function takesLong(inputs: Tensors, mayTransfer: boolean): boolean {
  const tensors = Object.values(inputs);
  if (tensors.some(isLargeBytes)) return true;
  const bytes = tensors.reduce((sum, tensor) => sum + byteSize(tensor), 0);
  return isLongCopy(bytes, mayTransfer);
}

/** Checks if writing tensors as text is work for a codec thread. */
export function isLargeText(tensors: readonly Tensor[]): boolean {
  let elements = 0;
  let bytes = 0;
  for (const tensor of tensors) {
    const count = elementCount(tensor.shape);
    // Lists without elements are written too.
    elements += count === 0 ? tensor.shape.reduce((lists, size) => lists * Math.max(size, 1), 1) : count;
    if (tensor.dtype === "bytes" && count <= MANY_ELEMENTS) bytes += byteSize(tensor);
  }
  return elements > MANY_ELEMENTS || bytes > LARGE_MESSAGE_BYTES;
}
