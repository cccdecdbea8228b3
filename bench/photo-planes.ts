/** Input of the conv net: one image of this side, as three planes. */
export const PHOTO_SIDE = 224;
export const PHOTO_SHAPE = [1, 3, PHOTO_SIDE, PHOTO_SIDE];

/** Pixels (RGB, row by row) as planes of values from 0 to 1. */
export function toPlanes(pixels: Uint8Array): Float32Array<ArrayBuffer> {
  const count = pixels.length / 3;
  const planes = new Float32Array(pixels.length);
  for (let pixel = 0; pixel < count; pixel++) {
    for (let channel = 0; channel < 3; channel++) {
      planes[channel * count + pixel] = (pixels[3 * pixel + channel] as number) / 255;
    }
  }
  return planes;
}
