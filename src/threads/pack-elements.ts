import type { PackedBytes } from "../tensor/packed-bytes.ts";
import { setView } from "./own-built-ins.ts";

/** The elements of a `bytes` tensor, concatenated in a new block; a single element is not copied. */
export function packElements(elements: readonly Uint8Array[]): PackedBytes {
  const [first] = elements;
  if (first !== undefined && elements.length === 1) {
    return { content: first, ranges: Uint32Array.of(0, first.length), byteLength: first.length };
  }
  let byteLength = 0;
  for (let index = 0; index < elements.length; index++) byteLength += elements[index]!.length;
  const content = new Uint8Array(byteLength);
  const ranges = new Uint32Array(2 * elements.length);
  let position = 0;
  for (let index = 0; index < elements.length; index++) {
    const element = elements[index]!;
    setView(content, element, position);
    ranges[2 * index] = position;
    position += element.length;
    ranges[2 * index + 1] = position;
  }
  return { content, ranges, byteLength };
}
