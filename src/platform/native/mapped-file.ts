import { ftruncateSync, writeSync } from "node:fs";
import { failedPrecondition } from "../../errors.ts";
import { bindFunctions, koffi, type Pointer, processLibrary } from "./bind-functions.ts";
import { copyFromNative, copyToNative } from "./memory.ts";

const PROT_READ = 1;
const PROT_WRITE = 2;
const MAP_SHARED = 1;
const MFD_CLOEXEC = 1;
const MFD_ALLOW_SEALING = 2;
const F_ADD_SEALS = 1033;
const F_SEAL_SEAL = 1;
const F_SEAL_SHRINK = 2;
const F_SEAL_GROW = 4;
/** (void *) -1 */
const MAP_FAILED = 2n ** 64n - 1n;

/**
 * A memory file in this process's address space, of which contents are copied to and from: a third of what a call of
 * the system costs. The file's size must be fixed, since touching memory behind its end would end the process.
 */
export class MappedFile {
  readonly size: number;
  readonly #fd: number;
  /** Undefined once it is closed. */
  #start: Pointer | undefined;
  /** End of what this process has written. */
  #written = 0;

  /** `fd` stays open as long as this is written to. Throws `failed_precondition` if the system refuses. */
  constructor(fd: number, size: number, access: "read" | "write") {
    const protection = access === "write" ? PROT_READ | PROT_WRITE : PROT_READ;
    this.#fd = fd;
    this.#start = mapFile(fd, size, protection);
    this.size = size;
  }

  /**
   * Copies bytes to a place; throws if they do not fit, or the machine has no memory for them. No page may be left
   * out before it is behind others.
   */
  write(place: number, bytes: Uint8Array): void {
    const end = place + bytes.byteLength;
    const start = this.#startFor(end);
    if (end <= this.#written) {
      copyToNative(start + BigInt(place), bytes);
      return;
    }
    // The first use of a page takes memory. Without any, a call fails; writing to the mapping would end the process.
    for (let done = 0; done < bytes.byteLength; )
      done += writeSync(this.#fd, bytes, done, bytes.byteLength - done, place + done);
    this.#written = end;
  }

  /**
   * Fills memory with a copy of the bytes at a place, which another process may be
   * changing; throws if the file has none.
   */
  read(place: number, memory: ArrayBuffer): ArrayBuffer {
    const start = this.#startFor(place + memory.byteLength);
    copyFromNative(new Uint8Array(memory), start + BigInt(place));
    return memory;
  }

  get isClosed(): boolean {
    return this.#start === undefined;
  }

  /** Ends all use of the memory. */
  close(): void {
    if (this.#start !== undefined) memoryCalls().munmap(this.#start, this.size);
    this.#start = undefined;
  }

  #startFor(end: number): Pointer {
    if (this.#start === undefined) throw failedPrecondition("The mapped file is closed.");
    if (end > this.size) throw failedPrecondition(`The mapped file has ${this.size} bytes; ${end} are needed.`);
    return this.#start;
  }
}

/** Some systems demand it; kernels before 6.3 do not know it. */
const MFD_NOEXEC_SEAL = 8;

/**
 * Creates a file in memory, which has no name in any folder, and a size that no process can change. Returns its
 * descriptor; throws `failed_precondition` if the system has no such files, which is everywhere but on Linux.
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

/**
 * Maps a file of 32-bit numbers into this process, for good: numbers written to them are in the file, whatever ends the
 * process. The file must keep its size. Throws `failed_precondition` if the system refuses.
 */
export function mapCells(fd: number, bytes: number): Int32Array {
  return new Int32Array(koffi.view(mapFile(fd, bytes, PROT_READ | PROT_WRITE), bytes));
}

function mapFile(fd: number, bytes: number, protection: number): Pointer {
  const start = memoryCalls().mmap(null, bytes, protection, MAP_SHARED, fd, 0);
  if (start === null || start === MAP_FAILED) throw failedPrecondition("The system refuses to map a file (mmap).");
  return start;
}

let calls: ReturnType<typeof bindMemoryCalls> | undefined;

/** The system's calls, bound with the first file: not every system has them. */
function memoryCalls() {
  calls ??= bindMemoryCalls();
  return calls;
}

function bindMemoryCalls() {
  return bindFunctions(
    processLibrary(),
    {
      mmap: ["void *", "void *", "size_t", "int", "int", "int", "int64_t"],
      munmap: ["int", "void *", "size_t"],
    },
    "The C library",
  );
}
