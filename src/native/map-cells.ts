import { failedPrecondition } from "../errors.ts";
import { bindFunctions } from "./bind-functions.ts";
import { koffi } from "./koffi.ts";
import { processLibrary } from "./process-library.ts";

const PROT_READ_WRITE = 3;
const MAP_SHARED = 1;
/** (void *) -1 */
const MAP_FAILED = 2n ** 64n - 1n;

/**
 * Maps a file of 32-bit numbers into this process, for good: what is written to them is in the file, whatever ends the
 * process. The file must keep its size. Throws `failed_precondition` where the system refuses.
 */
export function mapCells(fd: number, bytes: number): Int32Array {
  const { mmap } = bindFunctions(
    processLibrary(),
    { mmap: ["void *", "void *", "size_t", "int", "int", "int", "int64_t"] },
    "The C library",
  );
  const start = mmap(null, bytes, PROT_READ_WRITE, MAP_SHARED, fd, 0);
  if (start === null || start === MAP_FAILED) throw failedPrecondition("The system refuses to map a file (mmap).");
  return new Int32Array(koffi.view(start, bytes));
}
