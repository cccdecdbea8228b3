import { bindFunctions } from "./bind-functions.ts";
import { processLibrary } from "./process-library.ts";

const PR_SET_PDEATHSIG = 1;
const SIGKILL = 9;

/**
 * Has Linux kill this process when the thread that started it ends, whatever this one does then; throws
 * `failed_precondition` elsewhere.
 */
export function dieWithParent(): void {
  const { prctl } = bindFunctions(processLibrary(), { prctl: ["int", "int", "size_t", "size_t"] }, "The C library");
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0);
}
