import { closeSync, fstatSync, read, readSync, write, writeSync } from "node:fs";
import { promisify } from "node:util";
import { failedPrecondition, invalidArgument, ServingError } from "../errors.ts";
import { objectFile } from "./object-file.ts";
import { openObject } from "./open-object.ts";

/** A region as its client registers it. */
export interface RegionRequest {
  /** The client's own name for it. */
  readonly name: string;
  /** The name of the shared memory object. */
  readonly key: string;
  /** Its beginning in the object, in bytes. */
  readonly offset: bigint;
  readonly byteSize: bigint;
}

/** Size up to which contents are copied in the calling thread, in bytes: a tenth of a millisecond's work. */
const QUICK_BYTES = 1024 * 1024;

const readLater = promisify(read);
const writeLater = promisify(write);

/**
 * A part of another program's shared memory. Contents are copied by calls of the system into and out of ordinary
 * memory: a mapping would end this process as soon as the other one makes the object shorter.
 */
export class MemoryRegion {
  readonly name: string;
  readonly key: string;
  readonly offset: number;
  readonly byteSize: number;
  readonly #fd: number;

  /** Opens its object, which may then lose its name; throws, with Triton's texts, where it has no such part. */
  constructor({ name, key, offset, byteSize }: RegionRequest) {
    const { fd, bytes } = openObject(objectFile(name, key), key);
    this.name = name;
    this.key = key;
    this.offset = Number(offset);
    this.byteSize = Number(byteSize);
    this.#fd = fd;
    if (byteSize > 0n && offset + byteSize <= BigInt(bytes)) return;
    closeSync(fd);
    throw invalidArgument(
      `failed to register shared memory region '${name}': invalid args; the object '${key}' has ${bytes} bytes, and ` +
        `the region ${byteSize} from byte ${offset} on`,
    );
  }

  /**
   * Fills `target` with the bytes from `offset` of the region on; throws
   * `failed_precondition` where the object has become shorter.
   */
  async read(offset: number, target: Uint8Array): Promise<void> {
    const start = this.offset + offset;
    for (let done = 0; done < target.length; ) {
      const rest = target.length - done;
      const count =
        rest <= QUICK_BYTES
          ? readSync(this.#fd, target, done, rest, start + done)
          : (await readLater(this.#fd, target, done, rest, start + done)).bytesRead;
      if (count === 0) throw this.#tooShort();
      done += count;
    }
  }

  /** Writes bytes from `offset` of the region on; throws `failed_precondition` where the object has become shorter. */
  async write(offset: number, bytes: Uint8Array): Promise<void> {
    const start = this.offset + offset;
    // Writing beyond the end would make the object longer.
    if (fstatSync(this.#fd).size < start + bytes.length) throw this.#tooShort();
    try {
      for (let done = 0; done < bytes.length; ) {
        const rest = bytes.length - done;
        done +=
          rest <= QUICK_BYTES
            ? writeSync(this.#fd, bytes, done, rest, start + done)
            : (await writeLater(this.#fd, bytes, done, rest, start + done)).bytesWritten;
      }
    } catch (cause) {
      throw new ServingError("resource_exhausted", `Unable to write to shared memory region: '${this.name}'.`, {
        cause,
      });
    }
  }

  /** Closes the object; it must not be in use. */
  close(): void {
    closeSync(this.#fd);
  }

  #tooShort(): ServingError {
    return failedPrecondition(
      `The shared memory region '${this.name}' has become shorter than the ${this.byteSize} bytes with which it was registered; register it again.`,
    );
  }
}
