/** A stretch of a registered region, as a request names it. */
export interface MemoryPlace {
  readonly region: string;
  /** From the region's beginning, in bytes. */
  readonly offset: bigint;
  readonly byteSize: bigint;
}
