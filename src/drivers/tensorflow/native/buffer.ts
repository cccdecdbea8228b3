import type { Pointer } from "../../../native/bind-functions.ts";
import { copyFromNative } from "../../../native/memory.ts";
import type { TensorflowApi } from "./c-api.ts";

/** Calls with a TF_Buffer that holds a copy of the bytes. */
export function withBuffer<Returned>(
  api: TensorflowApi,
  bytes: Uint8Array,
  call: (buffer: Pointer) => Returned,
): Returned {
  const buffer = api.TF_NewBufferFromString(bytes, bytes.byteLength) as Pointer;
  try {
    return call(buffer);
  } finally {
    api.TF_DeleteBuffer(buffer);
  }
}

/** The bytes of a TF_Buffer, which begins with their address and their number. */
export function readBuffer(buffer: Pointer): Uint8Array {
  const [data, length] = copyFromNative(new BigUint64Array(2), buffer) as unknown as [bigint, bigint];
  return copyFromNative(new Uint8Array(Number(length)), data);
}
