import { failedPrecondition, invalidArgument, ServingError } from "../../errors.ts";
import { MemoryRegion, type RegionRequest } from "./memory-region.ts";

/** Regions at a time: each has a file open. */
const MAX_REGIONS = 1024;
const MAX_NAME_LENGTH = 256;
/** Largest size in memory that clients can state: 64 bits. */
const SIZE_MAX = 2n ** 64n - 1n;

/**
 * The regions of other programs' memory that clients have registered. Errors have the texts of Triton, whose clients
 * assert on them.
 */
export class SharedMemory {
  readonly #regions = new Map<string, RegionUse>();

  /** Throws `failed_precondition` on systems whose shared memory has no files. */
  constructor(platform: NodeJS.Platform = process.platform) {
    if (platform === "linux") return;
    throw failedPrecondition(
      `Memory that clients share (--allow-client-shm) needs Linux, and this is ${platform}; send tensors in messages.`,
    );
  }

  /** Adds a region; throws if its name is taken, or its object cannot be used. */
  register(request: RegionRequest): void {
    const { name } = request;
    if (name === "") throw invalidArgument("'region name' is necessary to register system shared memory region");
    if (name.length > MAX_NAME_LENGTH) {
      throw invalidArgument(`The region's name has ${name.length} characters; expected ${MAX_NAME_LENGTH} at most.`);
    }
    if (this.#regions.has(name)) {
      throw new ServingError("already_exists", `shared memory region '${name}' already in manager`);
    }
    if (this.#regions.size >= MAX_REGIONS) {
      throw new ServingError("resource_exhausted", `There are ${MAX_REGIONS} regions already; unregister some first.`);
    }
    const region = new MemoryRegion(request);
    this.#regions.set(name, new RegionUse(region, () => this.#regions.delete(name)));
  }

  /** Removes a region as soon as no request uses it; nothing if there is none of this name. */
  unregister(name: string): void {
    this.#regions.get(name)?.end();
  }

  /** Removes all regions, likewise. */
  unregisterAll(): void {
    for (const use of this.#regions.values()) use.end();
  }

  /** A region; undefined if there is none of this name. */
  find(name: string): MemoryRegion | undefined {
    return this.#regions.get(name)?.region;
  }

  /** All regions, in the order of their registration. */
  all(): readonly MemoryRegion[] {
    return [...this.#regions.values()].map(({ region }) => region);
  }

  /** A stretch for one request, which has to release it; throws if no region has it. */
  hold({ region: name, offset, byteSize }: MemoryPlace): HeldMemory {
    const use = this.#regions.get(name);
    if (use === undefined) throw new ServingError("not_found", `Unable to find shared memory region: '${name}'`);
    const size = BigInt(use.region.byteSize);
    const has = `which has ${size} bytes`;
    if (offset >= size) throw invalidArgument(`Invalid offset for shared memory region: '${name}', ${has}`);
    if (byteSize > SIZE_MAX - offset) {
      throw invalidArgument(
        `Integer overflow detected: byte_size (${byteSize}) + offset (${offset}) exceeds maximum value (${SIZE_MAX}) for region '${name}'`,
      );
    }
    if (offset + byteSize > size) {
      throw invalidArgument(`Invalid offset + byte size for shared memory region: '${name}', ${has}`);
    }
    return use.hold(Number(offset), Number(byteSize));
  }
}

/** A stretch of a region that one request uses. */
export interface HeldMemory {
  readonly byteSize: number;
  /** Fills `target`, of {@link byteSize} bytes. */
  read(target: Uint8Array): Promise<void>;
  /** Writes bytes from the stretch's beginning on, {@link byteSize} at most. */
  write(bytes: Uint8Array): Promise<void>;
  /** Ends the use; to be called once. */
  release(): void;
}

/** A region with the requests that use it: it is closed when it should end and none is left. */
class RegionUse {
  readonly region: MemoryRegion;
  readonly #onClose: () => void;
  #users = 0;
  #isEnding = false;

  constructor(region: MemoryRegion, onClose: () => void) {
    this.region = region;
    this.#onClose = onClose;
  }

  /** Closes the region, at once or after the last use of it. */
  end(): void {
    this.#isEnding = true;
    this.#closeIfDone();
  }

  /** A use of `byteSize` bytes from `offset` on, which have to be in the region. */
  hold(offset: number, byteSize: number): HeldMemory {
    this.#users++;
    const { region } = this;
    return {
      byteSize,
      read: (target) => region.read(offset, target),
      write: (bytes) => region.write(offset, bytes),
      release: () => {
        this.#users--;
        this.#closeIfDone();
      },
    };
  }

  #closeIfDone(): void {
    if (!this.#isEnding || this.#users > 0) return;
    this.#onClose();
    this.region.close();
  }
}

/** A stretch of a registered region, as a request names it. */
export interface MemoryPlace {
  readonly region: string;
  /** From the region's beginning, in bytes. */
  readonly offset: bigint;
  readonly byteSize: bigint;
}
