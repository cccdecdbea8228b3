import { failedPrecondition } from "../../../errors.ts";
import type { Pointer } from "../../../platform/native/bind-functions.ts";
import { copyFromNative, copyToNative, toCTexts } from "../../../platform/native/memory.ts";
import { type NumericDType, numericLayout } from "../../../tensor/dtype.ts";
import { createTensor, elementCount, type Tensor } from "../../../tensor/tensor.ts";
import { codeOf, toDType, typeOf } from "../element-types.ts";
import { assertTexts } from "../onnx-value.ts";
import { check, type NativeContext, takeInt, takePointer, takeSize } from "./open-onnx.ts";

/**
 * An OrtValue that views a tensor's memory, which has to stay where it is for as long; texts are copied. Throws
 * `invalid_argument` for bytes that are not text.
 */
export function toNativeTensor(context: NativeContext, name: string, tensor: Tensor): Pointer {
  if (tensor.dtype !== "bytes") return viewMemory(context, tensor);
  assertTexts(name, tensor.data);
  const { api, allocator } = context;
  const dims = toDims(tensor.shape);
  const code = codeOf("bytes");
  const value = takePointer(api, (at) => api.CreateTensorAsOrtValue(allocator, dims, dims.length, code, at));
  try {
    fillTexts(context, value, tensor.data);
    return value;
  } catch (reason) {
    api.ReleaseValue(value);
    throw reason;
  }
}

/** One call for all texts, unless one has a zero byte: that call takes texts that end at one. */
function fillTexts({ api }: NativeContext, value: Pointer, texts: readonly Uint8Array[]): void {
  if (!texts.some((text) => text.includes(0))) {
    check(api, api.FillStringTensor(value, toCTexts(texts), texts.length));
    return;
  }
  for (const [index, text] of texts.entries()) {
    const room = takePointer(api, (at) => api.GetResizedStringTensorElementBuffer(value, index, text.length, at));
    copyToNative(room, text);
  }
}

/** An OrtValue that views the memory of numbers, in which it is read or written. */
export function viewMemory({ api, memory }: NativeContext, { dtype, shape, data }: Tensor<NumericDType>): Pointer {
  const dims = toDims(shape);
  const code = codeOf(dtype);
  return takePointer(api, (at) =>
    api.CreateTensorWithDataAsOrtValue(memory, data, data.byteLength, dims, dims.length, code, at),
  );
}

function toDims(shape: readonly number[]): BigInt64Array {
  const dims = new BigInt64Array(shape.length);
  for (let axis = 0; axis < dims.length; axis++) dims[axis] = BigInt(shape[axis]!);
  return dims;
}

/**
 * A copy of an OrtValue's tensor, in its own memory; throws `failed_precondition` for elements that we do not carry.
 */
export function fromNativeTensor(context: NativeContext, name: string, value: Pointer): Tensor {
  const { api } = context;
  const { code, shape } = readShape(context, value);
  const dtype = toDType(typeOf(code));
  if (dtype === undefined) throw failedPrecondition(`Output "${name}" is ${typeOf(code)}, which cannot be carried.`);
  const count = elementCount(shape);
  if (dtype === "bytes") return createTensor("bytes", shape, readTexts(context, value, count));
  const { array, slots } = numericLayout(dtype);
  const data = new array(count * slots);
  if (count > 0)
    copyFromNative(
      data,
      takePointer(api, (at) => api.GetTensorMutableData(value, at)),
    );
  return createTensor(dtype, shape, data as never);
}

const room = new BigInt64Array(64);

function readShape({ api }: NativeContext, value: Pointer): { code: number; shape: number[] } {
  const info = takePointer(api, (at) => api.GetTensorTypeAndShape(value, at));
  try {
    const rank = takeSize(api, (at) => api.GetDimensionsCount(info, at));
    const dims = rank <= room.length ? room : new BigInt64Array(rank);
    check(api, api.GetDimensions(info, dims, rank));
    const shape = Array.from({ length: rank }, (_, axis) => Number(dims[axis]));
    return { code: takeInt(api, (at) => api.GetTensorElementType(info, at)), shape };
  } finally {
    api.ReleaseTensorTypeAndShapeInfo(info);
  }
}

function readTexts({ api }: NativeContext, value: Pointer, count: number): Uint8Array[] {
  if (count === 0) return [];
  const length = takeSize(api, (at) => api.GetStringTensorDataLength(value, at));
  const content = new Uint8Array(Math.max(1, length));
  const starts = new BigUint64Array(count);
  check(api, api.GetStringTensorContent(value, content, length, starts, count));
  const end = (index: number) => (index + 1 < count ? Number(starts[index + 1]) : length);
  return Array.from({ length: count }, (_, index) => content.slice(Number(starts[index]), end(index)));
}

/** Names of inputs or outputs, also as OrtApi.Run takes them. */
export interface Names {
  readonly names: readonly string[];
  readonly texts: BigUint64Array;
}

/** Makes names fit to be passed, for as long as the result is referenced. */
export function toNames(names: readonly string[]): Names {
  return { names, texts: toCTexts(names.map((name) => Buffer.from(name))) };
}
