/** A photo's bytes in, the conv net's scores out. */
import { createTensor, decodeImage, type Tensors } from "kserving";
import { PHOTO_SHAPE, PHOTO_SIDE, toPlanes } from "./photo-planes.ts";

export async function preprocess({ photo }: Tensors): Promise<Tensors> {
  const image = await decodeImage(photo, { width: PHOTO_SIDE, height: PHOTO_SIDE });
  return { x: createTensor("float32", PHOTO_SHAPE, toPlanes(image.data)) };
}
