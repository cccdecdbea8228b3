import type { NumericDType } from "../../tensor/dtype.ts";
import { packedOf } from "../../tensor/packed-bytes.ts";
import { byteSize, elementCount, isTensor, listCount, type Tensor } from "../../tensor/tensor.ts";

/** Forms in which codec threads write messages; `content` is protobuf with numbers as they lie in memory. */
export type EncodedForm = "text" | "protobuf" | "content";

/** Characters of the longest number of a dtype in JSON, with the comma that follows. */
const TEXT_BYTES: Readonly<Record<NumericDType, number>> = {
  bool: 6,
  uint8: 4,
  int8: 5,
  uint16: 6,
  int16: 7,
  uint32: 11,
  int32: 12,
  uint64: 21,
  int64: 21,
  float16: 16,
  bfloat16: 16,
  float32: 16,
  float64: 26,
  complex64: 36,
  complex128: 56,
};
/** Bytes of the longest number in protobuf, a negative varint, unless the dtype has more. */
const VARINT_BYTES = 10;
/**
 * Characters that JSON adds to an element of a `bytes` tensor, and those that it makes of one of its bytes: `\u0001`.
 */
const QUOTES_BYTES = 12;
const ESCAPE_BYTES = 6;
/** Memory of the writer for an element of a `bytes` tensor while it measures it, tag and length included. */
const ELEMENT_BYTES = 64;
/** The same for a number that is a separate message. */
const MESSAGE_BYTES = 512;
/** Brackets of a list, with the comma that follows. */
const LIST_BYTES = 3;
/** A text's buffer grows by copying it into one of twice the size. */
const GROWTH = 2;

/**
 * The most memory that writing a message takes: `args` are those of the job, with
 * tensors and typed arrays at any place.
 */
export function encodingBytes(args: readonly unknown[], form: EncodedForm): number {
  let bytes = 0;
  for (const value of valuesIn(args)) {
    bytes += form === "text" ? GROWTH * textBytes(value) : protobufBytes(value, form);
  }
  return bytes;
}

/** The numbers and texts of results other than tensors: each is a separate message. */
type Values = Uint8Array | Float32Array | string;

/** Characters from which a text counts: shorter ones are names. */
const LONG_TEXT = 4096;
/** Bytes that a character has at most. */
const CHARACTER_BYTES = 3;

function textBytes(value: Tensor | Values): number {
  if (typeof value === "string") return ESCAPE_BYTES * value.length;
  if (value instanceof Uint8Array) return QUOTES_BYTES + ESCAPE_BYTES * value.length;
  if (ArrayBuffer.isView(value)) return TEXT_BYTES.float32 * value.length;
  const { dtype, shape } = value;
  const count = elementCount(shape);
  const brackets = LIST_BYTES * listCount(shape);
  if (dtype === "bytes") return brackets + QUOTES_BYTES * count + ESCAPE_BYTES * byteSize(value);
  return brackets + TEXT_BYTES[dtype] * count;
}

function protobufBytes(value: Tensor | Values, form: EncodedForm): number {
  if (typeof value === "string") return CHARACTER_BYTES * value.length;
  if (value instanceof Uint8Array) return ELEMENT_BYTES + value.length;
  if (ArrayBuffer.isView(value)) return MESSAGE_BYTES * value.length;
  const perNumber = form === "content" ? 0 : VARINT_BYTES;
  const perElement = value.dtype === "bytes" ? ELEMENT_BYTES : perNumber;
  return perElement * elementCount(value.shape) + byteSize(value);
}

function* valuesIn(value: unknown): Generator<Tensor | Values> {
  if (typeof value === "string" && value.length > LONG_TEXT) yield value;
  if (typeof value !== "object" || value === null) return;
  // Looking at its data would unpack a packed one.
  if (packedOf(value) !== undefined || isTensor(value)) yield value as Tensor;
  else if (ArrayBuffer.isView(value)) yield value as Values;
  else for (const member of Object.values(value)) yield* valuesIn(member);
}
