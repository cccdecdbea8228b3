import type { LibraryHandle } from "koffi";
import { koffi } from "./koffi.ts";

let library: LibraryHandle | undefined;

/** The C library that this process runs with. */
export function processLibrary(): LibraryHandle {
  library ??= koffi.load(process.platform === "win32" ? "ucrtbase.dll" : null);
  return library;
}
