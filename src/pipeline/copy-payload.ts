import { copyTensors } from "../tensor/packed-tensor.ts";
import type { Payload } from "./payload.ts";

/** A copy of a payload in its own memory, which stays valid when the original is transferred. */
export function copyPayload(payload: Payload): Payload {
  if (payload.kind === "json") return { kind: "json", json: new Uint8Array(payload.json) };
  return { kind: "tensors", tensors: copyTensors(payload.tensors) };
}
