import { invalidArgument } from "../errors.ts";
import { type DType, isDType, type NumericData, type NumericDType, numericLayout, type TensorData } from "./dtype.ts";
import { packedOf } from "./packed-bytes.ts";
import { isPlainList } from "./plain-list.ts";
import { createRecord } from "./record.ts";

/**
 * A typed n-dimensional array in row-major order; immutable by convention.
 * Rank 0 is a scalar with one element; a dimension may be 0, and then `data` is empty.
 */
export type Tensor<D extends DType = DType> = {
  readonly [K in D]: { readonly dtype: K; readonly shape: readonly number[]; readonly data: TensorData<K> };
}[D];

/** Tensors by name. A null-prototype record: names such as `__proto__` are data. */
export type Tensors = Record<string, Tensor>;

/**
 * Builds a tensor; throws `invalid_argument` unless `data` has the dtype's type, and
 * as many elements as `shape` claims.
 */
export function createTensor<D extends DType>(dtype: D, shape: readonly number[], data: TensorData<D>): Tensor<D> {
  checkCarrier(dtype, data);
  const expected = elementCount(shape) * slotsOf(dtype);
  if (data.length !== expected) {
    throw invalidArgument(
      `A ${dtype} tensor of shape [${shape}] has ${expected} values, but ${data.length} were given.`,
    );
  }
  return { dtype, shape, data } as unknown as Tensor<D>;
}

/** An empty {@link Tensors} record, or one with the given entries. */
export function createTensors(entries: Iterable<readonly [string, Tensor]> = []): Tensors {
  const tensors: Tensors = createRecord();
  for (const [name, tensor] of entries) tensors[name] = tensor;
  return tensors;
}

/** Product of the dimensions, 1 for rank 0; throws `invalid_argument` for a negative, fractional or overflowing one. */
export function elementCount(shape: readonly number[]): number {
  let count = 1;
  for (const dim of shape) {
    if (!Number.isSafeInteger(dim) || dim < 0) {
      throw invalidArgument(`Shape [${shape}] has dimension ${dim}; expected an integer of 0 or more.`);
    }
    count *= dim;
  }
  if (!Number.isSafeInteger(count)) {
    throw invalidArgument(`Shape [${shape}] has more elements than can be counted.`);
  }
  return count;
}

/** The greatest rank of a tensor on every wire and between threads: TensorFlow's own limit. */
export const MAX_RANK = 254;
const MAX_DIMENSION = 2 ** 31 - 1;

/** Characters of a tensor's name. */
export const MAX_NAME = 4096;

/** Throws `invalid_argument` for a name of more than 4096 characters. */
export function assertName(name: string): void {
  if (name.length <= MAX_NAME) return;
  const begins = JSON.stringify(name.slice(0, 100));
  throw invalidArgument(
    `A tensor's name has ${name.length} characters; expected ${MAX_NAME} at most. It begins ${begins}.`,
  );
}

/**
 * Throws `invalid_argument`, naming the tensor, for a name of more than 4096 characters, and for a shape that cannot be
 * passed between threads: a rank over 254 or a dimension of 2^31 and more.
 */
export function assertCarriable(shape: readonly number[], name: string): void {
  assertName(name);
  if (shape.length > MAX_RANK) throw invalidArgument(`${name} has rank ${shape.length}; expected ${MAX_RANK} at most.`);
  for (const size of shape) {
    if (size > MAX_DIMENSION) throw invalidArgument(`${name} has a dimension of ${size}; expected less than 2^31.`);
  }
}

/** Bytes of the tensor's data; for `bytes` the sum over its elements. */
export function byteSize(tensor: Tensor): number {
  if (tensor.dtype !== "bytes") return tensor.data.byteLength;
  return packedOf(tensor)?.byteLength ?? tensor.data.reduce((sum, element) => sum + element.byteLength, 0);
}

/** {@link byteSize} of all of them. */
export function tensorBytes(tensors: Tensors): number {
  let bytes = 0;
  for (const name in tensors) bytes += byteSize(tensors[name]!);
  return bytes;
}

/**
 * Views raw little-endian bytes as a tensor's data: in place when the address is aligned, else one copy; also a copy of
 * a bool tensor with bytes other than 0 and 1, which become 1. The length must fit whole elements.
 */
export function viewBytes<D extends NumericDType>(dtype: D, bytes: Uint8Array): TensorData<D> {
  if (dtype === "bool") return asBooleans(bytes) as TensorData<D>;
  const { array } = numericLayout(dtype);
  const isAligned = bytes.byteOffset % array.BYTES_PER_ELEMENT === 0;
  const { buffer, byteOffset, byteLength } = isAligned ? bytes : alignedCopy(bytes);
  return new array(buffer, byteOffset, byteLength / array.BYTES_PER_ELEMENT) as TensorData<D>;
}

/** Runtimes compute on the bytes of booleans as they are, each in its own way. */
function asBooleans(bytes: Uint8Array): Uint8Array {
  if (!hasOnlyBits(bytes)) return bytes.map((byte) => Number(byte !== 0));
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Looks at four bytes at a time: one by one, 64 MB would block the thread for more than 100 ms. */
function hasOnlyBits(bytes: Uint8Array): boolean {
  const { buffer, byteOffset, byteLength } = bytes;
  const head = -byteOffset & 3;
  if (byteLength < head) return bytes.every((byte) => byte <= 1);
  const words = new Int32Array(buffer, byteOffset + head, (byteLength - head) >> 2);
  const tail = head + words.byteLength;
  let all = 0;
  for (let index = 0; index < words.length; index++) all |= words[index]!;
  for (const byte of new Uint8Array(buffer, byteOffset, head)) all |= byte;
  for (const byte of new Uint8Array(buffer, byteOffset + tail, byteLength - tail)) all |= byte;
  return (all & 0xfefefefe) === 0;
}

/**
 * By Buffer, if there is one, it is aligned to 8; small ones share a pool, which
 * costs less than an ArrayBuffer each.
 */
function alignedCopy(bytes: Uint8Array): Uint8Array {
  return typeof Buffer === "undefined" ? bytes.slice() : Buffer.from(bytes);
}

/** The bytes behind numeric data, without a copy. */
export function toBytes(data: NumericData): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

/**
 * Checks that a value is a tensor: a dtype's name, a shape, and data in an array that carries that dtype. Plain JSON
 * with such members is not.
 */
export function isTensor(value: unknown): value is Tensor {
  return looksLikeTensor(value) && carries(value.dtype, value.data);
}

/**
 * Checks that a value has a tensor's members, whatever carries its data: a tensor, or an object meant as one. JSON that
 * a client sent is not, whatever its members.
 */
export function looksLikeTensor(value: unknown): value is Tensor {
  if (typeof value !== "object" || value === null) return false;
  const { dtype, shape, data } = value as { dtype?: unknown; shape?: unknown; data?: unknown };
  const hasMembers = typeof dtype === "string" && isDType(dtype) && Array.isArray(shape);
  return hasMembers && typeof data === "object" && data !== null && !isPlainList(data);
}

function carries(dtype: DType, data: unknown): boolean {
  if (dtype === "bytes") return Array.isArray(data) && data.findIndex(isNoBytes) === -1;
  return data instanceof numericLayout(dtype).array;
}

function isNoBytes(element: unknown): boolean {
  return !(element instanceof Uint8Array);
}

function checkCarrier(dtype: DType, data: unknown): void {
  if (carries(dtype, data)) return;
  const came = dtype === "bytes" && Array.isArray(data) ? data.find(isNoBytes) : data;
  const what = typeof came === "object" && came !== null ? `a ${came.constructor?.name ?? "object"}` : typeof came;
  throw invalidArgument(
    dtype === "bytes"
      ? `A bytes tensor's data has ${what}; expected an array with one Uint8Array for each element.`
      : `A ${dtype} tensor's data is ${what}; expected a ${numericLayout(dtype).array.name}.`,
  );
}

function slotsOf(dtype: DType): number {
  return dtype === "bytes" ? 1 : numericLayout(dtype).slots;
}

/** Lists that a tensor may have for each of its values, and in addition, as nested lists. */
const LISTS_PER_VALUE = 8;
const MAX_SPARE_LISTS = 1 << 20;

/** Lists of a nested list of this shape; those without elements count too. */
export function listCount(shape: readonly number[]): number {
  let [lists, count] = [1, 1];
  for (const size of shape.slice(0, -1)) {
    count *= size;
    lists += count;
  }
  return lists;
}

/**
 * Checks if a tensor has far more lists than values as nested lists: shapes such as [2147483647, 0] cost their sender
 * nothing, but their text would fill the memory.
 */
export function hasTooManyLists(shape: readonly number[]): boolean {
  return listCount(shape) > LISTS_PER_VALUE * elementCount(shape) + MAX_SPARE_LISTS;
}

const given = new WeakSet<object>();

/**
 * Gives a tensor away: on its way to another thread its memory is handed over instead of copied, and the tensor is
 * empty here afterwards. Worth it for large tensors that a hook made and does not look at again.
 */
export function transfer(tensor: Tensor): Tensor {
  given.add(contentOf(tensor));
  return tensor;
}

/** Checks if a tensor was marked by {@link transfer}. */
export function isTransferred(tensor: Tensor): boolean {
  return given.has(contentOf(tensor));
}

/** Elements that are packed stay so. */
function contentOf(tensor: Tensor): object {
  return packedOf(tensor) ?? tensor.data;
}
