import { availableParallelism } from "node:os";
import { failedPrecondition } from "../../errors.ts";
import { CAPABILITIES, hasCapability, READING } from "../machine/system.ts";
import { bindFunctions, processLibrary, runAsync } from "./bind-functions.ts";

const PR_SET_PDEATHSIG = 1;
const PR_SET_DUMPABLE = 4;
const PR_CAPBSET_DROP = 24;
const SIGKILL = 9;

/** A variable that says yes to debuggers. */
const DEBUGGABLE = "KSERVING_DEBUGGABLE";

/**
 * Has Linux refuse this process's memory, environment and open files to other processes, those of the same user too: no
 * debugger attaches, and a crash leaves no core dump. What this thread starts gets no right to read any process either,
 * as root has outside of containers. Does nothing on other systems, and if `--debuggable` is given.
 */
export function hideProcess(): void {
  if (process.platform !== "linux" || /^(?:true|yes|on|1)$/i.test(process.env[DEBUGGABLE] ?? "")) return;
  for (const name of READING) if (hasCapability(name)) prctl(PR_CAPBSET_DROP, CAPABILITIES[name]);
  prctl(PR_SET_DUMPABLE, 0);
}

/**
 * Has Linux kill this process when the thread that started it ends, whatever this one does then; throws
 * `failed_precondition` elsewhere.
 */
export function dieWithParent(): void {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
}

function prctl(option: number, value: number): void {
  const types = ["int", "int", "size_t", "size_t", "size_t", "size_t"] as const;
  bindFunctions(processLibrary(), { prctl: types }, "The C library").prctl(option, value, 0, 0, 0);
}

const F_DUPFD_CLOEXEC = 1030;
const [STDOUT, STDERR] = [1, 2];

/**
 * Has everything that this process and its children write to standard output go to standard error; the descriptor that
 * is returned is standard output, for this process alone. Throws `failed_precondition` on systems without such calls.
 */
export function divertOutput(): number {
  const types = { fcntl: ["int", "int", "int", "int"], dup: ["int", "int"], dup2: ["int", "int", "int"] } as const;
  const { fcntl, dup, dup2 } = bindFunctions(processLibrary(), types, "The C library");
  // Elsewhere children get none of the descriptors that Node does not give them.
  const own = process.platform === "linux" ? fcntl(STDOUT, F_DUPFD_CLOEXEC, STDERR + 1) : dup(STDOUT);
  if (own < 0 || dup2(STDERR, STDOUT) < 0) throw failedPrecondition("Standard output cannot be kept apart.");
  return own;
}

/** Options of glibc's mallopt. */
const [M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX] = [-1, -3, -8];
/** Size from which a block gets memory that goes back to the system as soon as it is freed, in bytes. */
const MAPPED_BYTES = 8 * 1024 * 1024;
/** Free bytes at the end of a heap from which they go back. */
const TRIMMED_BYTES = 64 * 1024 * 1024;

/**
 * Has glibc keep less free memory. That of large messages goes back as soon as they are freed: it would take blocks of
 * up to 32 MB from its heaps once one was freed, where a small block behind them holds them all. And threads share as
 * many heaps as there are cores, in place of eight times as many: each keeps the free memory at its end, and what one
 * thread takes, another frees. What a `MALLOC_` variable says holds. Does nothing with other C libraries.
 */
export function keepLessFree(): void {
  const { mallopt } = bindFunctions(processLibrary(), { mallopt: ["int", "int", "int"] }, "The C library");
  const { env } = process;
  if (env.MALLOC_MMAP_THRESHOLD_ === undefined) mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
  if (env.MALLOC_TRIM_THRESHOLD_ === undefined) mallopt(M_TRIM_THRESHOLD, TRIMMED_BYTES);
  if (env.MALLOC_ARENA_MAX === undefined) mallopt(M_ARENA_MAX, availableParallelism());
}

/**
 * Returns free memory in the C library's heaps to the system, in a thread of the pool; throws `failed_precondition`
 * if the library is not glibc.
 */
export async function trimMemory(): Promise<void> {
  const { malloc_trim } = bindFunctions(processLibrary(), { malloc_trim: ["int", "size_t"] }, "The C library");
  await runAsync(malloc_trim, 0);
}
