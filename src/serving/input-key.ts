import { createHash, type Hash } from "node:crypto";
import type { Payload } from "../pipeline/payload.ts";
import type { Tensor, Tensors } from "../tensor/tensor.ts";

/**
 * A text that is equal for equal inputs, or for equal inputs of these names; undefined if the request has none of
 * them. JSON inputs (PredictJSON) are compared as a whole, by their text.
 */
export function inputKey(inputs: Payload, names: readonly string[] | "all"): string | undefined {
  const hash = createHash("sha1");
  if (inputs.kind === "json") return hash.update(inputs.json).digest("base64url");
  const { tensors } = inputs;
  const present = Object.keys(tensors).filter((name) => names === "all" || names.includes(name));
  if (present.length === 0) return undefined;
  for (const name of present.sort()) addTensor(hash, name, tensors);
  return hash.digest("base64url");
}

function addTensor(hash: Hash, name: string, tensors: Tensors): void {
  for (const part of tensorParts(name, tensors[name]!)) hash.update(part);
}

/** All that makes two tensors equal, piece by piece. */
export function* tensorParts(name: string, tensor: Tensor): Generator<string | NodeJS.ArrayBufferView> {
  yield JSON.stringify([name, tensor.dtype, tensor.shape]);
  if (tensor.dtype !== "bytes") {
    yield tensor.data;
    return;
  }
  for (const element of tensor.data) {
    yield `${element.byteLength} `;
    yield element;
  }
}
