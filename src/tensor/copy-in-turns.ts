import { CopyInTurns } from "../platform/limits/event-loop-turns.ts";
import { packedOf } from "./packed-bytes.ts";
import { createPackedTensor } from "./packed-tensor.ts";
import { createTensor, createTensors, type Tensor, type Tensors, toBytes } from "./tensor.ts";

/** Makes copies that may be given away, while others' requests go on. */
export async function copyInTurns(tensors: Tensors): Promise<Tensors> {
  const copies: [string, Tensor][] = [];
  for (const name in tensors) copies.push([name, await copyTensor(tensors[name] as Tensor)]);
  return createTensors(copies);
}

async function copyTensor(tensor: Tensor): Promise<Tensor> {
  if (tensor.dtype === "bytes") return copyElements(tensor);
  const { buffer } = await copyBytes([toBytes(tensor.data)]);
  return { ...tensor, data: Reflect.construct(tensor.data.constructor, [buffer]) };
}

/** Makes a list of such copies of texts. */
export function copyTexts(texts: readonly Uint8Array[]): Promise<Tensor<"bytes">> {
  return copyElements(createTensor("bytes", [texts.length], texts));
}

/** In one block, as they cross to another thread. */
async function copyElements(tensor: Tensor<"bytes">): Promise<Tensor<"bytes">> {
  const packed = packedOf(tensor);
  if (packed !== undefined) {
    const { content, ranges, byteLength } = packed;
    return createPackedTensor(tensor.shape, {
      content: await copyBytes([content]),
      ranges: ranges.slice(),
      byteLength,
    });
  }
  const content = await copyBytes(tensor.data);
  const ranges = new Uint32Array(2 * tensor.data.length);
  let byteLength = 0;
  for (const [index, { length }] of tensor.data.entries()) {
    ranges.set([byteLength, byteLength + length], 2 * index);
    byteLength += length;
  }
  return createPackedTensor(tensor.shape, { content, ranges, byteLength });
}

/** Joins pieces in memory of their own, while others' requests go on. */
export async function copyBytes(pieces: readonly Uint8Array[]): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  const copy = new CopyInTurns(bytes);
  for (const piece of pieces) await copy.add(piece);
  return bytes;
}
