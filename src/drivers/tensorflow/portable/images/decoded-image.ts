/** Decoded pixels, rows from the top, the channels of each pixel together. */
export interface Image {
  readonly width: number;
  readonly height: number;
  /** 1 = grey, 2 = grey and alpha, 3 = RGB, 4 = RGB and alpha. */
  readonly channels: number;
  readonly data: Uint8Array | Uint16Array;
}

/** Pixels that an image may have; its sizes come before its data, and cost memory. */
const MAX_PIXELS = 100_000_000;

/** Throws an Error for more pixels than are decoded. */
export function checkImageSize(width: number, height: number): void {
  if (width * height > MAX_PIXELS) throw new Error(`image of ${width} x ${height} pixels is too large`);
}
