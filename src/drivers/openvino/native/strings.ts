import { ServingError } from "../../../errors.ts";
import { bindFunctions, type Pointer } from "../../../native/bind-functions.ts";
import { copyFromNative } from "../../../native/memory.ts";
import { openLibrary } from "../../../native/open-library.ts";
import type { OpenvinoApi } from "./c-api.ts";
import { takeNumber, takePointer } from "./status.ts";

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
 * function does not. Throws `unimplemented` where they are not libstdc++'s.
 */
export function writeStrings(api: OpenvinoApi, tensor: Pointer, strings: readonly Uint8Array[]): void {
  if (strings.length === 0) return;
  const first = firstString(api, tensor, strings.length);
  assign ??= bindAssign();
  for (const [index, bytes] of strings.entries()) assign(first + BigInt(index * STRING_BYTES), bytes, bytes.length);
}

/** Copies of the texts in a tensor of strings. */
export function readStrings(api: OpenvinoApi, tensor: Pointer, count: number): Uint8Array[] {
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
