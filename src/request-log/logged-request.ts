import { defineJob } from "../codec-host/job.ts";
import { openJsonJob, type WantedInput } from "../pipeline/json-jobs.ts";
import type { Payload } from "../pipeline/payload.ts";
import { encodePredictRequest, encodePredictResponse } from "../protocols/tensorflow-serving/grpc-codec.ts";
import type { LogMetadata } from "../protocols/tensorflow-serving/log-metadata.ts";
import type { ModelSpec } from "../protocols/tensorflow-serving/model-spec.ts";
import { encodePredictionLog, type PredictionLog } from "../protocols/tensorflow-serving/prediction-log-message.ts";
import type { Tensors } from "../tensor/tensor.ts";
import { frameRecord } from "./frame-record.ts";

/** A request that was answered, to be recorded. */
export interface LoggedRequest {
  readonly metadata: LogMetadata;
  /** In its protocol's own form, or as tensors. */
  readonly content: PredictionLog | LoggedPredict;
}

/** A request of tensors, or of JSON, that is recorded as one of Predict. */
interface LoggedPredict {
  readonly kind: "tensors";
  /** The model as the client named it. */
  readonly spec: ModelSpec;
  readonly outputFilter: readonly string[];
  readonly inputs: LoggedPayload;
  readonly outputs: LoggedPayload;
}

/** A payload, and the dtypes for tensors from JSON. */
export interface LoggedPayload {
  readonly payload: Payload;
  readonly wanted: readonly WantedInput[];
}

/** Makes a record of a TFRecord file of a request. Throws `invalid_argument` for JSON that does not become tensors. */
async function toRecord({ metadata, content }: LoggedRequest): Promise<Uint8Array> {
  const log = content.kind === "tensors" ? await toPredictLog(content, metadata.spec) : content;
  return frameRecord(encodePredictionLog(log, metadata));
}

/** {@link toRecord} for a codec thread. */
export const toRecordJob = defineJob(import.meta.url, "toRecordJob", toRecord);

async function toPredictLog({ spec, outputFilter, ...values }: LoggedPredict, answered: ModelSpec) {
  const [inputs, outputs] = [await toTensors(values.inputs), await toTensors(values.outputs)];
  const request = encodePredictRequest({ spec, inputs, outputFilter }, "content");
  const response = encodePredictResponse({ spec: answered, outputs }, "content");
  return { kind: "predict_log", request, response } as const;
}

function toTensors({ payload, wanted }: LoggedPayload): Tensors | Promise<Tensors> {
  return payload.kind === "tensors" ? payload.tensors : openJsonJob.run(payload.json, wanted);
}
