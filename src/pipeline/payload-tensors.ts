import { createTensor, createTensors, type Tensors } from "../tensor/tensor.ts";
import type { Payload } from "./payload.ts";

const JSON_NAME = "json";
const STEPS_NAME = "steps";

/** A payload as tensors, which cross threads. */
export function payloadToTensors(payload: Payload): Tensors {
  if (payload.kind === "tensors") return payload.tensors;
  const { json, steps } = payload;
  const text = [JSON_NAME, createTensor("uint8", [json.length], json)] as const;
  return createTensors(
    steps === undefined ? [text] : [text, [STEPS_NAME, createTensor("uint32", [steps.length], steps)]],
  );
}

/** The payload that the tensors stand for. */
export function payloadFromTensors(kind: Payload["kind"], tensors: Tensors): Payload {
  if (kind === "tensors") return { kind, tensors };
  const steps = tensors[STEPS_NAME]?.data as Uint32Array | undefined;
  return { kind, json: tensors[JSON_NAME]?.data as Uint8Array, ...(steps && { steps }) };
}
