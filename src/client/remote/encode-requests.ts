import { isMainThread } from "node:worker_threads";
import { encodeInThread } from "../../platform/codec-host/codec-jobs.ts";
import type { Job } from "../../platform/codec-host/job.ts";
import { isLongCopy, takesLong } from "../../platform/codec-host/large-message.ts";
import { type CallHead, encodeCallJob } from "../../protocols/functions/function-messages.ts";
import { encodePredictJsonJob } from "../../protocols/kibernetika/grpc-codec.ts";
import { encodePredictRequestJob, type PredictRequest } from "../../protocols/tensorflow-serving/grpc-codec.ts";
import type { CallOptions } from "../../serving/inference-service.ts";
import { toBuffer } from "./grpc-client.ts";
import { encodeInferRequestJob, type InferRequest as KserveRequest } from "./infer-message.ts";

type Call = Pick<CallOptions, "signal" | "memory">;

/**
 * Writes a PredictRequest. In the main thread a codec thread does long work; in a hook's thread it delays only that
 * thread.
 */
export function encodeRequest(request: PredictRequest, call: Call): Buffer | Promise<Buffer> {
  const isLong = isMainThread && takesLong(request.inputs, call.memory?.isWireOnly === true);
  return isLong
    ? encodeElsewhere(encodePredictRequestJob, [request, "content"], call)
    : encodePredictRequestJob.run(request, "content");
}

/** {@link encodeRequest} for a ModelInferRequest; it may have to be sent as a PredictRequest after all. */
export function encodeKserve(request: KserveRequest, call: Call): Buffer | Promise<Buffer> {
  const isLong = isMainThread && takesLong(request.inputs, false);
  return isLong ? encodeElsewhere(encodeInferRequestJob, [request], call, true) : encodeInferRequestJob.run(request);
}

/** {@link encodeRequest} for a CallFunctionRequest with these bytes. */
export function encodeCall(head: CallHead, body: Uint8Array, call: Call): Buffer | Promise<Buffer> {
  const isLong = isMainThread && isLongCopy(body.length, call.memory?.isWireOnly === true);
  return isLong ? encodeElsewhere(encodeCallJob, [head, body], call) : encodeCallJob.run(head, body);
}

/** {@link encodeRequest} for PredictJSONData. */
export function encodeJson(json: Uint8Array, call: Call): Buffer | Promise<Buffer> {
  const isLong = isMainThread && isLongCopy(json.length, call.memory?.isWireOnly === true);
  return isLong ? encodeElsewhere(encodePredictJsonJob, [json], call) : encodePredictJsonJob.run(json);
}

function encodeElsewhere<Args extends readonly unknown[]>(
  job: Job<Args, Buffer>,
  args: Args,
  { signal, memory }: Call,
  keepsTensors = false,
): Promise<Buffer> {
  return encodeInThread(job, args, { signal, memory, keepsTensors, form: "content" }).then(toBuffer);
}
