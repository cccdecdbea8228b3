/** An image whose pixels stand in its file without compression. */
export interface PlainImage {
  readonly width: number;
  readonly height: number;
  /** 1 = grey, 3 = RGB, 4 = RGB and alpha. */
  readonly channels: 1 | 3 | 4;
  readonly depth: "uchar" | "ushort";
  /** The value of a full sample, for readers that scale it. */
  readonly maxValue: number;
  /** Decodes the pixels, rows from the top. */
  decode(): Uint8Array | Uint16Array;
}

/** Checks that the header promises no more than the bytes can hold. */
export function assertHolds(
  bytes: Uint8Array,
  needed: number,
  { width, height }: Pick<PlainImage, "width" | "height">,
) {
  if (needed <= bytes.length) return;
  throw new Error(`its header claims ${width} x ${height} pixels, which ${bytes.length} bytes cannot hold`);
}
