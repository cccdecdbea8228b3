import { basename } from "node:path";
import type { LibraryHandle } from "koffi";
import { failedPrecondition, reasonText } from "../errors.ts";
import { koffi } from "./koffi.ts";
import { processLibrary } from "./process-library.ts";

/** dlopen's flags: bind symbols lazily, only if it is loaded already, never unload. */
const PINNING_FLAGS: Partial<Record<NodeJS.Platform, number>> = {
  linux: 0x1 | 0x4 | 0x1000,
  darwin: 0x1 | 0x10 | 0x80,
};

/**
 * Opens a library for the rest of the process: koffi would unload it with the thread, under the feet of the threads
 * that it has started itself. Throws `failed_precondition` with the system's reason.
 */
export function openLibrary(path: string): LibraryHandle {
  const library = load(path);
  const flags = PINNING_FLAGS[process.platform];
  if (flags !== undefined) processLibrary().func("dlopen", "void *", ["str", "int"])(path, flags);
  return library;
}

function load(path: string): LibraryHandle {
  try {
    return koffi.load(path);
  } catch (cause) {
    const reason = reasonText(cause).replace("Failed to load shared library: ", "").replaceAll(path, basename(path));
    const message = `The library "${path}" cannot be loaded on ${process.platform} ${process.arch}: ${reason}.`;
    throw failedPrecondition(message, cause);
  }
}
