import { ftruncateSync } from "node:fs";
import { failedPrecondition } from "../errors.ts";
import { bindFunctions } from "./bind-functions.ts";
import { processLibrary } from "./process-library.ts";

const MFD_CLOEXEC = 1;
const MFD_ALLOW_SEALING = 2;
/** Some systems demand it; kernels before 6.3 do not know it. */
const MFD_NOEXEC_SEAL = 8;
const F_ADD_SEALS = 1033;
const F_SEAL_SEAL = 1;
const F_SEAL_SHRINK = 2;
const F_SEAL_GROW = 4;

/**
 * Creates a file in memory, which has no name in any folder, and a size that no process can change. Returns its
 * descriptor; throws `failed_precondition` where the system has no such files, which is everywhere but on Linux.
 */
export function createMemoryFile(title: string, bytes: number): number {
  const { memfd_create, fcntl } = bindFunctions(
    processLibrary(),
    { memfd_create: ["int", "str", "int"], fcntl: ["int", "int", "int", "..."] },
    "The C library",
  );
  const create = (flags: number) => memfd_create(title, MFD_CLOEXEC | MFD_ALLOW_SEALING | flags);
  const sealed = create(MFD_NOEXEC_SEAL);
  const fd = sealed >= 0 ? sealed : create(0);
  if (fd < 0) throw failedPrecondition("The system refuses to create a file in memory (memfd_create).");
  ftruncateSync(fd, bytes);
  if (fcntl(fd, F_ADD_SEALS, "int", F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW) === 0) return fd;
  throw failedPrecondition("The system refuses to fix the size of a file in memory (F_ADD_SEALS).");
}
