import { ServingError } from "../../../errors.ts";
import { bindFunctions, openLibrary, type Pointer } from "../../../platform/native/bind-functions.ts";
import { copyFromNative } from "../../../platform/native/memory.ts";
import { type NumericDType, numericLayout } from "../../../tensor/dtype.ts";
import { createTensor, elementCount, type Tensor } from "../../../tensor/tensor.ts";
import { fromDType, toDType } from "../element-types.ts";
import type { Port } from "../engine.ts";
import { check, type NativeContext, type OpenvinoApi, takeNumber, takePointer } from "./c-api.ts";

/** Status of ov_tensor_get_shape for rank 0. */
const NO_DIMENSIONS = -14;
/** Memory for a tensor without elements. */
const NOTHING = new Uint8Array(64);

/**
 * An ov_tensor_t that views a tensor's memory, for {@link OpenvinoApi.ov_tensor_free}: the tensor has to stay where it
 * is for as long. Strings are copied.
 */
export function toNativeTensor({ api, codes }: NativeContext, tensor: Tensor): Pointer {
  const { dtype, shape } = tensor;
  const code = codes.code(fromDType(dtype) ?? "");
  const native = { rank: shape.length, dims: shape.length === 0 ? null : BigInt64Array.from(shape, BigInt) };
  if (tensor.dtype !== "bytes") {
    const data = tensor.data.byteLength === 0 ? NOTHING : tensor.data;
    return takePointer(api, (at) => api.ov_tensor_create_from_host_ptr(code, native, data, at));
  }
  const pointer = takePointer(api, (at) => api.ov_tensor_create(code, native, at));
  try {
    writeStrings(api, pointer, tensor.data);
    return pointer;
  } catch (reason) {
    api.ov_tensor_free(pointer);
    throw reason;
  }
}

/** A copy of an output's ov_tensor_t, in its own memory. */
export function fromNativeTensor({ api }: NativeContext, pointer: Pointer, { elementType, shape }: Port): Tensor {
  const dtype = toDType(elementType, "The output");
  const dims = isStatic(shape) ? [...shape] : readShape(api, pointer);
  const count = elementCount(dims);
  if (dtype === "bytes") return createTensor("bytes", dims, readStrings(api, pointer, count));
  const { array, slots } = numericLayout(dtype as NumericDType);
  const data = allocate(() => new array(count * slots), dims);
  if (count > 0)
    copyFromNative(
      data,
      takePointer(api, (at) => api.ov_tensor_data(pointer, at)),
    );
  return createTensor(dtype, dims, data as never);
}

function isStatic(shape: Port["shape"]): shape is readonly number[] {
  return shape?.every((dimension) => typeof dimension === "number" && dimension >= 0) ?? false;
}

function readShape(api: OpenvinoApi, pointer: Pointer): number[] {
  // ov_shape_t: the rank, the dimensions' address.
  const shape = new BigInt64Array(2);
  const status = api.ov_tensor_get_shape(pointer, shape);
  if (status === NO_DIMENSIONS) return [];
  check(api, status);
  const [rank, address] = shape as unknown as [bigint, bigint];
  const dims = Array.from(copyFromNative(new BigInt64Array(Number(rank)), address), Number);
  api.ov_shape_free(shape);
  return dims;
}

function allocate<Data>(make: () => Data, shape: readonly number[]): Data {
  try {
    return make();
  } catch (cause) {
    const message = `There is no memory for an output of shape [${shape}].`;
    throw new ServingError("resource_exhausted", message, { cause });
  }
}

/** Bytes of a std::string of libstdc++: the address of its bytes, their number, and room for a short text. */
const STRING_BYTES = 32;
/** `std::string::assign(const char *, size_t)`, as libstdc++ exports it. */
const ASSIGN = "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6assignEPKcm";

let assign: ReturnType<typeof bindAssign> | undefined;

function bindAssign() {
  const table = { [ASSIGN]: ["void *", "void *", "void *", "size_t"] } as const;
  return bindFunctions(openLibrary("libstdc++.so.6"), table, "The C++ library")[ASSIGN];
}

/**
 * Puts texts into a tensor of strings, which are std::string objects. OpenVINO's C API
 * takes texts that end in zero, so that bytes with zeros would be cut; their own
 * function does not. Throws `unimplemented` if they are not libstdc++'s.
 */
function writeStrings(api: OpenvinoApi, tensor: Pointer, strings: readonly Uint8Array[]): void {
  if (strings.length === 0) return;
  const first = firstString(api, tensor, strings.length);
  assign ??= bindAssign();
  for (const [index, bytes] of strings.entries()) assign(first + BigInt(index * STRING_BYTES), bytes, bytes.length);
}

/** Copies of the texts in a tensor of strings. */
function readStrings(api: OpenvinoApi, tensor: Pointer, count: number): Uint8Array[] {
  if (count === 0) return [];
  const words = new BigUint64Array((count * STRING_BYTES) / 8);
  copyFromNative(words, firstString(api, tensor, count));
  return Array.from({ length: count }, (_, index) => {
    const [address = 0n, length = 0n] = words.subarray((index * STRING_BYTES) / 8);
    return copyFromNative(new Uint8Array(Number(length)), address);
  });
}

function firstString(api: OpenvinoApi, tensor: Pointer, count: number): Pointer {
  const bytes = takeNumber(api, (at) => api.ov_tensor_get_byte_size(tensor, at));
  if (process.platform !== "linux" || bytes !== count * STRING_BYTES) throw notKnown();
  return takePointer(api, (at) => api.ov_tensor_data(tensor, at));
}

function notKnown(): ServingError {
  return new ServingError(
    "unimplemented",
    "Tensors of strings are served on Linux with OpenVINO 2026.0 or later; elsewhere they lie in memory in another way.",
  );
}
