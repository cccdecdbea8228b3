import { closeSync, constants, fstatSync, openSync, read, readSync, write, writeSync } from "node:fs";
import { promisify } from "node:util";
import { type ErrorCode, failedPrecondition, invalidArgument, ServingError } from "../../errors.ts";

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

  /** Opens its object, which may then lose its name; throws, with Triton's texts, if it has no such part. */
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
   * `failed_precondition` if the object has become shorter.
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

  /** Writes bytes from `offset` of the region on; throws `failed_precondition` if the object has become shorter. */
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

const { O_RDWR, O_NOFOLLOW, O_NONBLOCK } = constants;

/** An open file, and its size in bytes. */
interface OpenObject {
  readonly fd: number;
  readonly bytes: number;
}

/**
 * Opens the file of a shared memory object; `key` = its name for errors. Never follows a link nor waits. Throws
 * `not_found`, `permission_denied` or `invalid_argument` if there is no object that this process may read and write.
 */
function openObject(file: string, key: string): OpenObject {
  const fd = open(file, key);
  const stats = fstatSync(fd);
  if (stats.isFile()) return { fd, bytes: stats.size };
  closeSync(fd);
  throw invalidArgument(`Unable to open shared memory region: '${key}' is not a shared memory object.`);
}

function open(file: string, key: string): number {
  try {
    return openSync(file, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
  } catch (cause) {
    const { code = "" } = cause as NodeJS.ErrnoException;
    const [status, why] = REASONS[code] ?? OTHERWISE;
    throw new ServingError(status, `Unable to open shared memory region: '${key}': ${why}.`, { cause });
  }
}

const REASONS: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  ENOENT: ["not_found", "the server's machine has no such object, or its container does not share it"],
  EACCES: ["permission_denied", "the server's user may not read and write it"],
};
const OTHERWISE = ["invalid_argument", "it is not a shared memory object"] as const;

/** Folder in which Linux has the objects of POSIX shared memory, as files in memory. */
const FOLDER = "/dev/shm";
/** Prefix of objects that Triton's Python backend makes for itself. */
const RESERVED = "triton_python_backend_shm_region_";
/** The longest name of a file, in bytes. */
const MAX_NAME_BYTES = 255;

/**
 * The file of a shared memory object, by the key that a client gives for a region: the object's name, with or without
 * slashes before it, as `shm_open` takes it. Throws `invalid_argument`, with Triton's texts, for any other key: none
 * leads out of the folder.
 */
function objectFile(region: string, key: string): string {
  const name = key.replace(/^\/+/, "");
  const refused = `cannot register shared memory region '${region}'`;
  if (name.startsWith(RESERVED)) {
    throw invalidArgument(`${refused} with key '${key}' as the key contains the reserved prefix '${RESERVED}'`);
  }
  if (isFileName(name)) return `${FOLDER}/${name}`;
  throw invalidArgument(`${refused} - invalid shm key '${key}'; expected the object's name, such as /my_input`);
}

function isFileName(name: string): boolean {
  if (name === "" || name === "." || name === "..") return false;
  return !/[/\0]/.test(name) && Buffer.byteLength(name) <= MAX_NAME_BYTES;
}
