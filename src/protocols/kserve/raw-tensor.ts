import { invalidArgument, ServingError } from "../../errors.ts";
import { isLargeBytes, LARGE_COPY_BYTES, MANY_ELEMENTS } from "../../platform/codec-host/large-message.ts";
import { type DecodeBudget, ELEMENT_BYTES } from "../../platform/limits/memory/decode-budget.ts";
import { ByteRanges } from "../../tensor/byte-ranges.ts";
import { type NumericDType, numericLayout } from "../../tensor/dtype.ts";
import { packedOf } from "../../tensor/packed-bytes.ts";
import { byteSize, createTensor, elementCount, type Tensor, toBytes, viewBytes } from "../../tensor/tensor.ts";
import { DATATYPE_NAMES, datatypeNamed } from "./datatype.ts";
import { requestError } from "./request-error.ts";

/** Facts about one input in a request, without its values. */
export interface InputHead {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
}

/** The request and the memory limit for reading an input. */
export interface InputContext {
  /** The model's name, for errors. */
  readonly model: string;
  /** The request's id, for errors; absent or empty if its client gave none. */
  readonly id?: string;
  /** Limits the memory of the input besides views of its bytes. */
  readonly budget: DecodeBudget;
  /** The text that null in JSON is; absent = none. */
  readonly nullText?: Uint8Array | undefined;
}

/** Bytes before each element of a raw BYTES tensor: its length, little-endian. */
export const LENGTH_BYTES = 4;

/**
 * The tensor whose values lie in `raw`: little-endian, row-major, each BYTES element after 4 bytes of length. Views
 * `raw` if it can. Throws `invalid_argument` with the texts of Triton, whose clients assert on them.
 */
export function fromRaw(head: InputHead, raw: Uint8Array, { model, id = "", budget }: InputContext): Tensor {
  const { name, shape } = head;
  const dtype = dtypeOfInput(head, model);
  const count = elementsOf(head, model);
  if (dtype === "bytes") {
    // There are at most as many elements as lengths.
    budget.spend(ELEMENT_BYTES * Math.min(count, raw.length / LENGTH_BYTES), () => `${count} elements of '${name}'`);
    return readElements(raw, shape, { name, count, model, id });
  }
  const expected = count * numericLayout(dtype).bytes;
  // Each is looked at, and all are copied if one is neither 0 nor 1.
  if (dtype === "bool") budget.spend(raw.length, () => `${count} booleans of '${name}'`);
  if (raw.length === expected) return createTensor(dtype, shape, viewBytes<NumericDType>(dtype, raw));
  throw requestError(
    id,
    `input byte size mismatch for input '${name}' for model '${model}'. Expected ${expected}, got ${raw.length}`,
  );
}

/** The dtype of an input; throws `invalid_argument` for an unknown datatype. */
export function dtypeOfInput({ name, datatype }: InputHead, model: string): Tensor["dtype"] {
  const found = datatypeNamed(datatype);
  if (found !== undefined) return found.dtype;
  throw invalidArgument(
    `invalid datatype '${datatype}' for input '${name}' for model '${model}'; expected one of ${DATATYPE_NAMES.join(", ")}`,
  );
}

/** Elements of an input's shape; throws `invalid_argument` for a negative or overflowing dimension. */
export function elementsOf(head: InputHead, model: string): number {
  const { name, shape } = head;
  if (shape.every((size) => size >= 0)) assertNoOverflow(head);
  try {
    return elementCount(shape);
  } catch (cause) {
    const { code, message } = ServingError.from(cause);
    throw new ServingError(code, `input '${name}' for model '${model}': ${message}`, { cause });
  }
}

const INT64_MAX = 2n ** 63n - 1n;

/** Throws, with Triton's texts, if the number of elements or bytes exceeds 64 bits. */
function assertNoOverflow({ name, shape, datatype }: InputHead): void {
  if (shape.reduce((product, size) => product * size, 1) <= Number.MAX_SAFE_INTEGER) return;
  const count = shape.reduce((product, size) => product * BigInt(size), 1n);
  if (count > INT64_MAX) {
    throw invalidArgument(
      `invalid shape for input '${name}': shape [${shape}] causes total element count to exceed maximum size of ${INT64_MAX}`,
    );
  }
  const dtype = datatypeNamed(datatype)?.dtype ?? "bytes";
  const bytes = dtype === "bytes" ? 1 : numericLayout(dtype).bytes;
  if (count * BigInt(bytes) <= INT64_MAX) return;
  throw invalidArgument(
    `byte size overflow for input '${name}': element count (${count}) * data type size (${bytes}) exceeds maximum allowed size (${INT64_MAX})`,
  );
}

interface Elements {
  readonly name: string;
  readonly count: number;
  readonly model: string;
  readonly id: string;
}

function readElements(raw: Uint8Array, shape: readonly number[], expected: Elements): Tensor {
  const { name, count, model, id } = expected;
  const view = new DataView(raw.buffer, raw.byteOffset, raw.byteLength);
  const elements = new ByteRanges();
  let position = 0;
  while (position < raw.length) {
    if (position + LENGTH_BYTES > raw.length) {
      throw requestError(id, `incomplete string length indicator for inference input '${name}' for model '${model}'`);
    }
    const start = position + LENGTH_BYTES;
    position = start + view.getUint32(start - LENGTH_BYTES, true);
    if (position > raw.length) {
      throw requestError(
        id,
        `incomplete string data for inference input '${name}' for model '${model}', expecting string of length ` +
          `${position - start} but only ${raw.length - start} bytes available`,
      );
    }
    if (elements.count === count) throw tooMany(expected);
    elements.push(start, position);
  }
  if (elements.count < count) throw wrongCount(expected, elements.count);
  return elements.toTensor(shape, raw);
}

function tooMany({ name, count, model, id }: Elements): ServingError {
  return requestError(
    id,
    `unexpected number of string elements ${count + 1} for inference input '${name}' for model '${model}', expecting ${count}`,
  );
}

function wrongCount({ name, count, model, id }: Elements, got: number): ServingError {
  return requestError(
    id,
    `expected ${count} string elements for inference input '${name}' for model '${model}', got ${got}`,
  );
}

/** The bytes of {@link fromRaw}; numbers without a copy. */
export function toRaw(tensor: Tensor): Uint8Array {
  if (tensor.dtype !== "bytes") return toBytes(tensor.data);
  const raw = new Uint8Array(rawSize(tensor));
  const view = new DataView(raw.buffer);
  let position = 0;
  for (const element of elementsOfTensor(tensor)) {
    view.setUint32(position, element.length, true);
    raw.set(element, position + LENGTH_BYTES);
    position += LENGTH_BYTES + element.length;
  }
  return raw;
}

/** Size from which an element is not copied, in bytes: copying fewer costs less than sending one more buffer. */
const MIN_BORROWED_BYTES = 16 * 1024;

/** The bytes of {@link toRaw} in consecutive pieces, of which large elements are not copied. */
export function toRawPieces(tensor: Tensor): readonly Uint8Array[] {
  if (tensor.dtype !== "bytes") return [toRaw(tensor)];
  const copied = new Uint8Array(copiedBytes(tensor));
  const view = new DataView(copied.buffer);
  const pieces: Uint8Array[] = [];
  let [start, position] = [0, 0];
  for (const element of elementsOfTensor(tensor)) {
    view.setUint32(position, element.length, true);
    position += LENGTH_BYTES;
    if (isBorrowed(element)) {
      pieces.push(copied.subarray(start, position), element);
      start = position;
    } else {
      copied.set(element, position);
      position += element.length;
    }
  }
  return start < position ? [...pieces, copied.subarray(start)] : pieces;
}

/** Checks if {@link toRawPieces} is work for a codec thread: many elements, or small ones that are much together. */
export function isLargeRaw(tensor: Tensor): boolean {
  if (!isLargeBytes(tensor)) return false;
  return elementCount(tensor.shape) > MANY_ELEMENTS || copiedBytes(tensor) > LARGE_COPY_BYTES;
}

/** Number of the bytes that {@link toRawPieces} copies. */
function copiedBytes(tensor: Tensor): number {
  if (tensor.dtype !== "bytes") return 0;
  let bytes = 0;
  for (const element of elementsOfTensor(tensor)) bytes += LENGTH_BYTES + (isBorrowed(element) ? 0 : element.length);
  return bytes;
}

function isBorrowed({ length }: Uint8Array): boolean {
  return length >= MIN_BORROWED_BYTES;
}

/** The elements in order; packed ones stay packed. */
function* elementsOfTensor(tensor: Tensor<"bytes">): Generator<Uint8Array> {
  const packed = packedOf(tensor);
  if (packed === undefined) yield* tensor.data;
  else
    for (let at = 0; at < packed.ranges.length; at += 2)
      yield packed.content.subarray(packed.ranges[at], packed.ranges[at + 1]);
}

/** Size of the result of {@link toRaw}, in bytes. */
export function rawSize(tensor: Tensor): number {
  if (tensor.dtype !== "bytes") return tensor.data.byteLength;
  return LENGTH_BYTES * elementCount(tensor.shape) + byteSize(tensor);
}
