import { failedPrecondition, invalidArgument, type ServingError } from "../../errors.ts";
import { cutText } from "../../platform/text/cut-text.ts";
import { type DType, type NumericDType, numericLayout } from "../dtype.ts";
import { createTensor, elementCount, hasTooManyLists, type Tensor, toBytes, viewBytes } from "../tensor.ts";

const MAGIC = "\x93NUMPY";
/** Bytes of the magic text and the version. */
const VERSION_END = 8;
/** NumPy reads longer headers only if it is asked to. */
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

const MAGIC_AND_VERSION = Buffer.from("\x93NUMPY\x01\x00", "latin1");
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
  const start = Math.ceil((MAGIC_AND_VERSION.length + 2 + text.length + 1) / ALIGNMENT) * ALIGNMENT;
  const header = Buffer.from(`${text.padEnd(start - MAGIC_AND_VERSION.length - 3)}\n`, "latin1");
  const length = Buffer.alloc(2);
  length.writeUInt16LE(header.length);
  return Buffer.concat([MAGIC_AND_VERSION, length, header, bytes]);
}

function packTexts({ data }: Tensor<"bytes">): { readonly type: string; readonly bytes: Uint8Array } {
  const width = data.reduce((most, element) => Math.max(most, element.length), 1);
  const bytes = new Uint8Array(width * data.length);
  for (const [index, element] of data.entries()) bytes.set(element, index * width);
  return { type: `|S${width}`, bytes };
}
