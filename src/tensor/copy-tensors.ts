import { packBytes, packedOf } from "./packed-bytes.ts";
import { createPackedTensor } from "./packed-tensor.ts";
import { createTensors, type Tensor, type Tensors } from "./tensor.ts";

/** Copies of tensors in their own memory, which stay valid when the originals are transferred. */
export function copyTensors(tensors: Tensors): Tensors {
  return createTensors(Object.entries(tensors).map(([name, tensor]) => [name, copyTensor(tensor)]));
}

function copyTensor(tensor: Tensor): Tensor {
  if (tensor.dtype !== "bytes") return { ...tensor, data: tensor.data.slice() } as Tensor;
  const packed = packedOf(tensor);
  if (packed !== undefined)
    return createPackedTensor(tensor.shape, packBytes(packed.content.slice(), packed.ranges.slice()));
  return { ...tensor, data: tensor.data.map((element) => new Uint8Array(element)) };
}
