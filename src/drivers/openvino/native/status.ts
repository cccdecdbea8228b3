import { ServingError } from "../../../errors.ts";
import type { Pointer } from "../../../native/bind-functions.ts";
import { readText } from "../../../native/read-text.ts";
import { OpenvinoFailure, type OpenvinoFailureKind } from "../openvino-failure.ts";
import type { OpenvinoApi } from "./c-api.ts";

/** Values of ov_status_e that add something to OpenVINO's text. */
const KINDS: Readonly<Record<number, OpenvinoFailureKind>> = { [-13]: "cancelled" };

/** Throws {@link OpenvinoFailure}, with OpenVINO's text, for a status other than success. */
export function check(api: OpenvinoApi, status: number, kind: OpenvinoFailureKind = "failed"): void {
  if (status === 0) return;
  throw new OpenvinoFailure(KINDS[status] ?? kind, `${lastMessage(api) || api.ov_get_error_info(status)}`);
}

/** The pointer that a function writes to its last argument. */
export function takePointer(api: OpenvinoApi, call: (at: BigUint64Array) => number): Pointer {
  const at = new BigUint64Array(1);
  check(api, call(at));
  const [pointer] = at as unknown as [Pointer];
  if (pointer === 0n) throw new ServingError("internal", "OpenVINO reports success and gives nothing.");
  return pointer;
}

/** The number that a function writes to its last argument. */
export function takeNumber(api: OpenvinoApi, call: (at: BigUint64Array) => number): number {
  const at = new BigUint64Array(1);
  check(api, call(at));
  return Number(at[0]);
}

/** The text that a function allocates. */
export function takeText(api: OpenvinoApi, call: (at: BigUint64Array) => number): string {
  const pointer = takePointer(api, call);
  const text = readText(pointer);
  api.ov_free(pointer);
  return text;
}

/** The last error of the whole process: if two calls fail at once, it may be the other call's. */
function lastMessage(api: OpenvinoApi): string {
  const pointer = api.ov_get_last_err_msg();
  if (pointer === null) return "";
  const text = readText(pointer);
  api.ov_free(pointer);
  return text;
}
