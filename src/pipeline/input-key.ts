import { createHash, type Hash } from "node:crypto";
import { isGone, packedOf } from "../tensor/packed-bytes.ts";
import { elementCount, type Tensor, type Tensors, toBytes } from "../tensor/tensor.ts";
import type { InferRequest } from "./infer-request.ts";
import type { Payload } from "./payload.ts";

/** Bytes that are read in one turn of the event loop. */
const TURN_BYTES = 8 * 1024 * 1024;

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
function* tensorParts(name: string, tensor: Tensor): Generator<string | NodeJS.ArrayBufferView> {
  // A name as JSON may be six times as long.
  yield JSON.stringify([name.length, tensor.dtype, tensor.shape]);
  yield name;
  if (tensor.dtype !== "bytes") {
    yield tensor.data;
    return;
  }
  for (const element of tensor.data) {
    yield `${element.byteLength} `;
    yield element;
  }
}

/** The request's inputs, and what says which of the model's functions gets them. */
type HashedRequest = Omit<InferRequest, "call">;

/** A hash that is equal for equal requests of a model. Large ones are read in several turns. */
export async function hashRequest(request: HashedRequest): Promise<string> {
  const hash = createHash("sha256");
  let read = 0;
  for (const part of partsOf(request)) {
    hash.update(part);
    read += part.length;
    if (read < TURN_BYTES) continue;
    read = 0;
    await new Promise(setImmediate);
  }
  return hash.digest("base64url");
}

/** The same for a request of which little is to be read. */
export function hashSmallRequest(request: HashedRequest): string {
  const hash = createHash("sha256");
  for (const part of partsOf(request)) hash.update(part);
  return hash.digest("base64url");
}

/** False if its memory was given away: to a thread, or to another request. */
export function isIntact(inputs: Payload): boolean {
  if (inputs.kind === "json") return inputs.json.byteLength > 0;
  return Object.values(inputs.tensors).every(isWhole);
}

function isWhole(tensor: Tensor): boolean {
  const packed = packedOf(tensor);
  if (packed !== undefined) return !isGone(packed);
  return tensor.data.length > 0 || elementCount(tensor.shape) === 0;
}

function* partsOf({ signature, inputs, outputs, targets, raw }: HashedRequest): Generator<string | Uint8Array> {
  yield JSON.stringify([signature.name, outputs?.length, targets?.length, raw]);
  for (const names of [outputs, targets]) for (const name of names ?? []) yield `${name.length} ${name}`;
  if (inputs.kind === "json") yield* slices(inputs.json);
  else {
    for (const name of Object.keys(inputs.tensors).sort()) {
      for (const part of tensorParts(name, inputs.tensors[name]!)) {
        if (typeof part === "string") yield part;
        else yield* slices(toBytes(part as Uint8Array));
      }
    }
  }
}

function* slices(bytes: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += TURN_BYTES) yield bytes.subarray(start, start + TURN_BYTES);
}
