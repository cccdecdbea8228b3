import type { Pointer } from "./bind-functions.ts";
import { koffi } from "./koffi.ts";

/** The UTF-8 text that begins at an address and ends in zero. */
export function readText(address: Pointer): string {
  return koffi.decode(new BigUint64Array([address]), "str") as string;
}
