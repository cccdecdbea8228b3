import { isMainThread } from "node:worker_threads";
import { encodeInThread } from "../../platform/codec-host/codec-jobs.ts";
import { isLargeBytes } from "../../platform/codec-host/large-message.ts";
import { encodePredictJson, encodePredictJsonJob } from "../../protocols/kibernetika/grpc-codec.ts";
import {
  encodePredictRequest,
  encodePredictRequestJob,
  type PredictRequest,
} from "../../protocols/tensorflow-serving/grpc-codec.ts";
import type { CallOptions } from "../../serving/inference-service.ts";
import { byteSize, type Tensors } from "../../tensor/tensor.ts";

/** Size from which a codec thread copies values into a message, if their memory can be transferred. */
const LONG_COPY_BYTES = 8 * 1024 * 1024;

type Call = Pick<CallOptions, "signal" | "memory">;

/**
 * Writes a PredictRequest. In the main thread a codec thread does long work; in a
 * hook's thread it delays only that thread.
 */
export function encodeRequest(request: PredictRequest, call: Call): Buffer | Promise<Buffer> {
  if (!isMainThread || !isLong(request.inputs, call)) return encodePredictRequest(request, "content");
  return encodeInThread(encodePredictRequestJob, [request, "content"], { ...call, form: "content" }).then(toBuffer);
}

/** Writes a PredictJSONData, likewise. */
export function encodeJson(json: Uint8Array, call: Call): Buffer | Promise<Buffer> {
  if (!isMainThread || !isLongCopy(json.length, call)) return encodePredictJson(json);
  return encodeInThread(encodePredictJsonJob, [json], { ...call, form: "content" }).then(toBuffer);
}

function isLong(inputs: Tensors, call: Call): boolean {
  let bytes = 0;
  for (const name in inputs) {
    const tensor = inputs[name]!;
    if (isLargeBytes(tensor)) return true;
    bytes += byteSize(tensor);
  }
  return isLongCopy(bytes, call);
}

/** Memory that has to stay here would be copied for the thread. */
function isLongCopy(bytes: number, { memory }: Call): boolean {
  return bytes > LONG_COPY_BYTES && memory?.isWireOnly === true;
}

function toBuffer({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}
