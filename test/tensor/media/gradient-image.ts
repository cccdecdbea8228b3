import { createTensor } from "../../../src/tensor/tensor.ts";

/**
 * An RGB image whose red channel counts columns and whose green channel counts rows,
 * so that each pixel tells where it came from.
 */
export function gradientImage(width: number, height: number) {
  const data = Array.from({ length: width * height }, (_, at) => [at % width, Math.floor(at / width), 0]).flat();
  return createTensor("uint8", [height, width, 3], Uint8Array.from(data));
}
