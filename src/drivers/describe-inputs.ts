import type { Tensors } from "../tensor/tensor.ts";

/** `The inputs were x float32[1,3].`, for errors that they may be the reason of. */
export function describeInputs(inputs: Tensors): string {
  const texts = Object.entries(inputs).map(([name, { dtype, shape }]) => `${name} ${dtype}[${shape}]`);
  return texts.length === 0 ? "The run had no inputs." : `The inputs were ${texts.join(", ")}.`;
}
