import { invalidArgument, type ServingError } from "../../errors.ts";
import { type NumericDType, numericLayout } from "../../tensor/dtype.ts";
import { hasTooManyLists } from "../../tensor/list-count.ts";
import { createTensor, elementCount, type Tensor, viewBytes } from "../../tensor/tensor.ts";
import { cutText } from "../../text/cut-text.ts";

const MAGIC = "\x93NUMPY";
/** Bytes of the magic text and the version. */
const VERSION_END = 8;
/** NumPy reads longer headers only where it is asked to. */
const MAX_HEADER_BYTES = 10_000;
/** Types as numpy writes them, without the sign for their byte order. */
const DTYPES: Readonly<Record<string, NumericDType>> = {
  b1: "bool",
  u1: "uint8",
  u2: "uint16",
  u4: "uint32",
  u8: "uint64",
  i1: "int8",
  i2: "int16",
  i4: "int32",
  i8: "int64",
  f2: "float16",
  f4: "float32",
  f8: "float64",
  c8: "complex64",
  c16: "complex128",
};
const DESCR = /'descr'\s*:\s*'([<>|=]?)(\w+)'/;
const ORDER = /'fortran_order'\s*:\s*(True|False)/;
const SHAPE = /'shape'\s*:\s*\(([\d,\sL]*)\)/;

/**
 * Reads a file in NumPy's npy format, version 1 to 3
 * (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html); the tensor views its bytes where they are
 * aligned. Throws `invalid_argument` for anything but numbers in little-endian C order.
 */
export function readNpy(bytes: Uint8Array): Tensor {
  const { header, start } = readHeader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  const dtype = readDType(header);
  if (ORDER.exec(header)?.[1] !== "False") {
    throw refused("it is in Fortran order; convert it with numpy.ascontiguousarray");
  }
  const shape = readShape(header);
  if (hasTooManyLists(shape)) throw refused(`its shape [${shape}] has far more lists than values; reshape it`);
  const data = bytes.subarray(start);
  const expected = elementCount(shape) * numericLayout(dtype).bytes;
  if (data.length !== expected) {
    throw refused(`its shape [${shape}] needs ${expected} bytes, but it has ${data.length} after its header`);
  }
  return createTensor(dtype, shape, viewBytes(dtype, data));
}

function readHeader(bytes: Buffer): { readonly header: string; readonly start: number } {
  if (bytes.length < VERSION_END + 4 || bytes.toString("latin1", 0, MAGIC.length) !== MAGIC) {
    throw refused("it does not begin as such a file does; write it with numpy.save");
  }
  const isFirst = bytes[MAGIC.length] === 1;
  const headerStart = VERSION_END + (isFirst ? 2 : 4);
  const length = isFirst ? bytes.readUInt16LE(VERSION_END) : bytes.readUInt32LE(VERSION_END);
  const start = headerStart + length;
  if (length > MAX_HEADER_BYTES || start > bytes.length) throw refused("its header is cut short");
  return { header: bytes.toString("latin1", headerStart, start), start };
}

function readDType(header: string): NumericDType {
  const [, byteOrder, type = ""] = DESCR.exec(header) ?? [];
  const dtype = Object.hasOwn(DTYPES, type) ? DTYPES[type] : undefined;
  if (dtype === undefined) throw refused(`its dtype is not one of numbers: ${cutText(header)}`);
  if (byteOrder === ">") throw refused("its numbers are big-endian; convert it with astype to a dtype of '<'");
  return dtype;
}

function readShape(header: string): readonly number[] {
  const list = SHAPE.exec(header)?.[1];
  if (list === undefined) throw refused("its header has no shape");
  const sizes = list
    .split(",")
    .map((size) => size.trim())
    .filter((size) => size !== "");
  return sizes.map((size) => Number.parseInt(size, 10));
}

function refused(why: string): ServingError {
  return invalidArgument(`The body is not a NumPy array that can be read: ${why}.`);
}
