import { ServingError } from "../../errors.ts";
import { type DType, isDType } from "../../tensor/dtype.ts";
import { byteSize, createTensor, elementCount, type Tensor, toBytes, viewBytes } from "../../tensor/tensor.ts";

/** Bytes of the length before each element of a `bytes` tensor. */
const LENGTH_BYTES = 4;

/**
 * A tensor's data for the other process: numbers unchanged, `bytes` as u32 lengths followed by the elements. May view
 * the tensor.
 */
export function encodeTensor(tensor: Tensor): Uint8Array {
  if (tensor.dtype !== "bytes") return toBytes(tensor.data);
  const { data } = tensor;
  const bytes = Buffer.alloc(LENGTH_BYTES * data.length + byteSize(tensor));
  let end = LENGTH_BYTES * data.length;
  for (const [index, element] of data.entries()) {
    bytes.writeUInt32LE(element.byteLength, LENGTH_BYTES * index);
    bytes.set(element, end);
    end += element.byteLength;
  }
  return bytes;
}

/** A tensor from bytes without other users; throws `internal` for an invalid one. */
export function decodeTensor(dtype: string, shape: readonly number[], bytes: Uint8Array): Tensor {
  if (!isDType(dtype)) throw new ServingError("internal", `Python gave a tensor of the type ${dtype}.`);
  return createTensor(
    dtype as DType,
    shape,
    (dtype === "bytes" ? elements(shape, bytes) : viewBytes(dtype, bytes)) as never,
  );
}

function elements(shape: readonly number[], bytes: Uint8Array): Uint8Array[] {
  const count = elementCount(shape);
  const lengths = new DataView(bytes.buffer, bytes.byteOffset, LENGTH_BYTES * count);
  let end = LENGTH_BYTES * count;
  return Array.from({ length: count }, (_, index) => {
    const start = end;
    end += lengths.getUint32(LENGTH_BYTES * index, true);
    return bytes.slice(start, end);
  });
}
