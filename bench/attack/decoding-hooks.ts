/** Hooks that decode whatever comes as an image, and return its size. */
import { createTensor, decodeImage, type Tensors } from "kserving";

/** Decodes all elements of the input x at once. */
export async function preprocess({ x }: Tensors): Promise<Tensors> {
  const elements = (x?.data ?? []) as readonly Uint8Array[];
  const images = await Promise.all(elements.map((element) => decodeImage(element)));
  return {
    sizes: createTensor(
      "int32",
      [images.length],
      Int32Array.from(images, ({ data }) => data.length),
    ),
  };
}
