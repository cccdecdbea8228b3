import { writeSync } from "node:fs";
import { failedPrecondition } from "../errors.ts";
import { bindFunctions, type Pointer } from "./bind-functions.ts";
import { copyFromNative, copyToNative } from "./memory.ts";
import { processLibrary } from "./process-library.ts";

const PROT_READ = 1;
const PROT_WRITE = 2;
const MAP_SHARED = 1;
/** (void *) -1 */
const MAP_FAILED = 2n ** 64n - 1n;

const { mmap, munmap } = bindFunctions(
  processLibrary(),
  {
    mmap: ["void *", "void *", "size_t", "int", "int", "int", "int64_t"],
    munmap: ["int", "void *", "size_t"],
  },
  "The C library",
);

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

  /** `fd` stays open as long as this is written to. Throws `failed_precondition` where the system refuses. */
  constructor(fd: number, size: number, access: "read" | "write") {
    const protection = access === "write" ? PROT_READ | PROT_WRITE : PROT_READ;
    const start = mmap(null, size, protection, MAP_SHARED, fd, 0);
    if (start === null || start === MAP_FAILED) throw failedPrecondition("The system refuses to map a file (mmap).");
    this.#fd = fd;
    this.#start = start;
    this.size = size;
  }

  /**
   * Copies bytes to a place; throws where they do not fit, or the machine has no memory for them. No page may be left
   * out before it is behind others.
   */
  write(place: number, bytes: Uint8Array): void {
    const end = place + bytes.byteLength;
    const start = this.#startFor(end);
    if (end <= this.#written) {
      copyToNative(start + BigInt(place), bytes);
      return;
    }
    // The first use of a page takes memory: without any, a call fails, where writing to
    // the mapping would end the process.
    for (let done = 0; done < bytes.byteLength; )
      done += writeSync(this.#fd, bytes, done, bytes.byteLength - done, place + done);
    this.#written = end;
  }

  /**
   * Fills memory with a copy of the bytes at a place, which another process may be
   * changing; throws where the file has none.
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
    if (this.#start !== undefined) munmap(this.#start, this.size);
    this.#start = undefined;
  }

  #startFor(end: number): Pointer {
    if (this.#start === undefined) throw failedPrecondition("The mapped file is closed.");
    if (end > this.size) throw failedPrecondition(`The mapped file has ${this.size} bytes; ${end} are needed.`);
    return this.#start;
  }
}
