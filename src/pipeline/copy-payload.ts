import { copyTensors } from "../tensor/copy-tensors.ts";
import type { Payload } from "./payload.ts";

/** The same payload in memory of its own, which stays when this one is handed over. */
export function copyPayload(payload: Payload): Payload {
  if (payload.kind === "json") return { kind: "json", json: new Uint8Array(payload.json) };
  return { kind: "tensors", tensors: copyTensors(payload.tensors) };
}
