import { createTensor, createTensors, type Tensors } from "../tensor/tensor.ts";
import type { Payload } from "./payload.ts";

const JSON_NAME = "json";

/** A payload as tensors, which cross threads. */
export function payloadToTensors(payload: Payload): Tensors {
  if (payload.kind === "tensors") return payload.tensors;
  return createTensors([[JSON_NAME, createTensor("uint8", [payload.json.length], payload.json)]]);
}

/** The payload that the tensors stand for. */
export function payloadFromTensors(kind: Payload["kind"], tensors: Tensors): Payload {
  if (kind === "tensors") return { kind, tensors };
  return { kind, json: tensors[JSON_NAME]?.data as Uint8Array };
}
