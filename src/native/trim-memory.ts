import { bindFunctions, runAsync } from "./bind-functions.ts";
import { processLibrary } from "./process-library.ts";

/**
 * Returns free memory in the C library's heaps to the system, in a thread of the pool; throws `failed_precondition`
 * where the library is not glibc.
 */
export async function trimMemory(): Promise<void> {
  const { malloc_trim } = bindFunctions(processLibrary(), { malloc_trim: ["int", "size_t"] }, "The C library");
  await runAsync(malloc_trim, 0);
}
