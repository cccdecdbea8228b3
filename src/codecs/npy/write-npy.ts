import { failedPrecondition } from "../../errors.ts";
import type { DType } from "../../tensor/dtype.ts";
import { type Tensor, toBytes } from "../../tensor/tensor.ts";

const MAGIC = Buffer.from("\x93NUMPY\x01\x00", "latin1");
/** The data begins at a multiple of it. */
const ALIGNMENT = 64;
/** Types as numpy writes them; it has no bfloat16. */
const TYPES: Partial<Readonly<Record<DType, string>>> = {
  bool: "|b1",
  uint8: "|u1",
  uint16: "<u2",
  uint32: "<u4",
  uint64: "<u8",
  int8: "|i1",
  int16: "<i2",
  int32: "<i4",
  int64: "<i8",
  float16: "<f2",
  float32: "<f4",
  float64: "<f8",
  complex64: "<c8",
  complex128: "<c16",
};

/**
 * A tensor as a file in NumPy's npy format, version 1. Texts are byte strings of the longest one's length. Throws
 * `failed_precondition` for bfloat16, which NumPy does not have.
 */
export function writeNpy(tensor: Tensor): Buffer {
  const content =
    tensor.dtype === "bytes" ? packTexts(tensor) : { type: TYPES[tensor.dtype], bytes: toBytes(tensor.data) };
  const { type, bytes } = content;
  if (type === undefined) throw failedPrecondition(`NumPy has no ${tensor.dtype}; write it as JSON.`);
  const shape = tensor.shape.length === 1 ? `(${tensor.shape[0]},)` : `(${tensor.shape.join(", ")})`;
  const text = `{'descr': '${type}', 'fortran_order': False, 'shape': ${shape}, }`;
  const start = Math.ceil((MAGIC.length + 2 + text.length + 1) / ALIGNMENT) * ALIGNMENT;
  const header = Buffer.from(`${text.padEnd(start - MAGIC.length - 3)}\n`, "latin1");
  const length = Buffer.alloc(2);
  length.writeUInt16LE(header.length);
  return Buffer.concat([MAGIC, length, header, bytes]);
}

function packTexts({ data }: Tensor<"bytes">): { readonly type: string; readonly bytes: Uint8Array } {
  const width = data.reduce((most, element) => Math.max(most, element.length), 1);
  const bytes = new Uint8Array(width * data.length);
  for (const [index, element] of data.entries()) bytes.set(element, index * width);
  return { type: `|S${width}`, bytes };
}
