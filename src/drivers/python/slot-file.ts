import { randomUUID } from "node:crypto";
import { constants, existsSync, readSync, rmSync, writeSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Up to here a copy is quicker than handing it to another thread, in bytes. */
const SYNC_BYTES = 1 << 20;
/** Memory of the machine that an idle slot may keep, in bytes. */
const KEPT_BYTES = 64 << 20;
/** A call of the system moves less than 2 GiB. */
const MOVE_BYTES = 1 << 30;
const MEMORY_FOLDER = "/dev/shm";

/**
 * A file in memory that two processes read and write by position. It has no name from the
 * beginning, so that the system frees it with the last process that holds it, whatever
 * ends that. Without a memory file system it lies in the folder for temporary files.
 */
export class SlotFile {
  readonly #file: FileHandle;
  #size = 0;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  static async create(): Promise<SlotFile> {
    const folder = existsSync(MEMORY_FOLDER) ? MEMORY_FOLDER : tmpdir();
    // Threads of one process create such files in the same millisecond.
    const path = join(folder, `kserving-${process.pid}-${randomUUID()}`);
    const file = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600);
    rmSync(path);
    return new SlotFile(file);
  }

  /** The descriptor that the other process inherits. */
  get fd(): number {
    return this.#file.fd;
  }

  /**
   * Writes bytes; false if there is no room for them, for example in a container with a small memory file system.
   */
  async write(bytes: Uint8Array, position: number): Promise<boolean> {
    this.#size = Math.max(this.#size, position + bytes.byteLength);
    try {
      await move(bytes.byteLength, (done, size) => {
        if (bytes.byteLength <= SYNC_BYTES) return writeSync(this.fd, bytes, done, size, position + done);
        return this.#file.write(bytes, done, size, position + done).then(({ bytesWritten }) => bytesWritten);
      });
      return true;
    } catch {
      return false;
    }
  }

  /** Fills an array from a position; rejects if there are fewer bytes. */
  read(target: Uint8Array, position: number): Promise<void> {
    this.#size = Math.max(this.#size, position + target.byteLength);
    return move(target.byteLength, (done, size) => {
      if (target.byteLength <= SYNC_BYTES) return readSync(this.fd, target, done, size, position + done);
      return this.#file.read(target, done, size, position + done).then(({ bytesRead }) => bytesRead);
    });
  }

  /** Frees memory that was needed once; undefined if there is no need to wait. */
  trim(): Promise<void> | undefined {
    if (this.#size <= KEPT_BYTES) return undefined;
    this.#size = 0;
    return this.#file.truncate(0);
  }

  /** Waits for running writes and reads. */
  close(): Promise<void> {
    return this.#file.close();
  }
}

/** Calls until all is moved: the system may move less than it is asked to. */
async function move(total: number, step: (done: number, size: number) => number | Promise<number>): Promise<void> {
  for (let done = 0; done < total; ) {
    const moved = step(done, Math.min(total - done, MOVE_BYTES));
    const size = typeof moved === "number" ? moved : await moved;
    if (size === 0) throw new Error("The other process wrote less than it said.");
    done += size;
  }
}
