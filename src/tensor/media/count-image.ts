import { ImageReservation } from "../../platform/limits/memory/image-reservation.ts";
import type { ImageTensor } from "./image-tensor.ts";

/** Images of fewer bytes are what hooks make of others all the time, and not worth to be watched. */
const COUNTED_BYTES = 1024 * 1024;

/**
 * Counts a large image's memory as long as a hook has it. `reserved` is what was kept
 * for its making, and is given back for a small one; left out, the image counts
 * without asking for room, since a request that holds others must not wait for it.
 */
export function countImage(image: ImageTensor, reserved?: ImageReservation): ImageTensor {
  const { buffer, byteLength } = image.data;
  if (byteLength < COUNTED_BYTES) {
    reserved?.release();
    return image;
  }
  const counted = reserved ?? new ImageReservation(0);
  counted.resize(byteLength);
  counted.releaseWith(buffer);
  return image;
}
