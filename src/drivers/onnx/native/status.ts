import { ServingError } from "../../../errors.ts";
import type { Pointer } from "../../../native/bind-functions.ts";
import type { OnnxApi } from "./c-api.ts";

const at = new BigUint64Array(1);
const count = new Int32Array(1);

/** Throws an error with ONNX Runtime's text for a status, which it releases. */
export function check(api: OnnxApi, status: Pointer | null): void {
  if (status === null) return;
  const message = api.GetErrorMessage(status) ?? "";
  api.ReleaseStatus(status);
  throw new Error(message);
}

/** The pointer that a function writes to its last argument. */
export function takePointer(api: OnnxApi, call: (at: BigUint64Array) => Pointer | null): Pointer {
  at[0] = 0n;
  check(api, call(at));
  const [pointer] = at as unknown as [Pointer];
  if (pointer === 0n) throw new ServingError("internal", "ONNX Runtime reports success and gives nothing.");
  return pointer;
}

/** The `size_t` that a function writes to its last argument. */
export function takeSize(api: OnnxApi, call: (at: BigUint64Array) => Pointer | null): number {
  check(api, call(at));
  return Number(at[0]);
}

/** The `int` or enumeration that a function writes to its last argument. */
export function takeInt(api: OnnxApi, call: (at: Int32Array) => Pointer | null): number {
  check(api, call(count));
  return count[0]!;
}
