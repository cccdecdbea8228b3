import { invalidArgument, ServingError } from "../../../errors.ts";
import type { Pointer } from "../../../native/bind-functions.ts";
import { copyFromNative, copyToNative } from "../../../native/memory.ts";
import { numericLayout } from "../../../tensor/dtype.ts";
import { createTensor, elementCount, type Tensor } from "../../../tensor/tensor.ts";
import { dataTypeName, fromDType, toDType } from "../saved-model/data-type.ts";
import { withBuffer } from "./buffer.ts";
import type { TensorflowApi } from "./c-api.ts";
import { withStatus } from "./status.ts";
import { toStringTensorProto } from "./string-tensor-proto.ts";

/** Bytes of a TF_TString. */
const STRING_BYTES = 24;

/**
 * A TF_Tensor with a tensor's values, for {@link TensorflowApi.TF_DeleteTensor}. Its memory is TensorFlow's own:
 * TensorFlow computes on memory that is aligned to 64 bytes only and would copy what V8 allocates (16 bytes) itself;
 * and a graph may keep what it is given, in a variable for instance.
 */
export function toNativeTensor(api: TensorflowApi, tensor: Tensor): Pointer {
  if (tensor.dtype === "bytes") return toStringTensor(api, tensor);
  const { dtype, shape, data } = tensor;
  const pointer = allocate(api, fromDType(dtype), shape, data.byteLength);
  copyToNative(api.TF_TensorData(pointer) as Pointer, data);
  return pointer;
}

/**
 * A copy of a TF_Tensor, in memory of its own; throws `invalid_argument`, with the name that it was asked for by, for a
 * type that no request can carry.
 */
export function fromNativeTensor(api: TensorflowApi, pointer: Pointer, name: string): Tensor {
  const type = api.TF_TensorType(pointer);
  const dtype = toDType(type);
  if (dtype === undefined) throw notCarried(name, type);
  const shape = Array.from({ length: api.TF_NumDims(pointer) }, (_, axis) => Number(api.TF_Dim(pointer, axis)));
  const count = elementCount(shape);
  if (dtype === "bytes") return createTensor("bytes", shape, readStrings(api, pointer, count));
  const { array, slots } = numericLayout(dtype);
  const data = copyFromNative(new array(count * slots), count === 0 ? 0n : (api.TF_TensorData(pointer) as Pointer));
  return createTensor(dtype, shape, data as never);
}

function notCarried(name: string, type: number): ServingError {
  return invalidArgument(`"${name}" is of type ${dataTypeName(type)}, which has no values to give.`);
}

function allocate(api: TensorflowApi, type: number, shape: readonly number[], bytes: number): Pointer {
  const pointer = api.TF_AllocateTensor(type, BigInt64Array.from(shape, BigInt), shape.length, bytes);
  if (pointer === null) throw new ServingError("resource_exhausted", `TensorFlow has no memory for ${bytes} bytes.`);
  return pointer;
}

/**
 * From a TensorProto, so that TensorFlow owns each string: the memory of strings that were put into a tensor one by one
 * could never be freed safely.
 */
function toStringTensor(api: TensorflowApi, { shape, data }: Tensor<"bytes">): Pointer {
  const pointer = allocate(api, fromDType("bytes"), [0], 0);
  try {
    const proto = toStringTensorProto(shape, data);
    withBuffer(api, proto, (buffer) => withStatus(api, (status) => api.TF_TensorFromProto(buffer, pointer, status)));
    return pointer;
  } catch (reason) {
    api.TF_DeleteTensor(pointer);
    throw reason;
  }
}

function readStrings(api: TensorflowApi, pointer: Pointer, count: number): Uint8Array[] {
  if (count === 0) return [];
  const first = api.TF_TensorData(pointer) as Pointer;
  return Array.from({ length: count }, (_, index) => {
    const string = first + BigInt(index * STRING_BYTES);
    const bytes = new Uint8Array(Number(api.TF_StringGetSize(string)));
    return copyFromNative(bytes, api.TF_StringGetDataPointer(string) as Pointer);
  });
}
