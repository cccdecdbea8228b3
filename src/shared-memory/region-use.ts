import type { MemoryRegion } from "./memory-region.ts";

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
export class RegionUse {
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
