import { bindFunctions, type Pointer } from "./bind-functions.ts";
import { processLibrary } from "./process-library.ts";

// Half as long as a copy through koffi.view, which makes V8 adopt the foreign memory first.
const { memcpy } = bindFunctions(
  processLibrary(),
  { memcpy: ["void *", "void *", "void *", "size_t"] },
  "The C library",
);

/** Copies an array's bytes to native memory, which has room for them. */
export function copyToNative(target: Pointer, source: ArrayBufferView): void {
  if (source.byteLength > 0) memcpy(target, source, source.byteLength);
}

/** Fills an array with the bytes at an address. */
export function copyFromNative<Target extends ArrayBufferView>(target: Target, source: Pointer): Target {
  if (target.byteLength > 0) memcpy(target, source, target.byteLength);
  return target;
}
