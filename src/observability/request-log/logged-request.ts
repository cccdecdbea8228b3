import { openJsonJob, type WantedInput } from "../../pipeline/json-jobs.ts";
import type { Payload } from "../../pipeline/payload.ts";
import { defineJob } from "../../platform/codec-host/job.ts";
import { encodePredictRequest, encodePredictResponse } from "../../protocols/tensorflow-serving/grpc-codec.ts";
import type { LogMetadata } from "../../protocols/tensorflow-serving/log-metadata.ts";
import type { ModelSpec } from "../../protocols/tensorflow-serving/model-spec.ts";
import { encodePredictionLog, type PredictionLog } from "../../protocols/tensorflow-serving/prediction-log-message.ts";
import type { InferRequest, ModelRef } from "../../serving/inference-service.ts";
import { crc32c, maskCrc32c, maskedCrc32c } from "../../tensor/codecs/crc32c.ts";
import type { TensorSpec } from "../../tensor/signature/signature.ts";
import type { Tensors } from "../../tensor/tensor.ts";

/** A request to be recorded, with its answer if there is one. */
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
  readonly outputs?: LoggedPayload;
  /** Those of an answer in parts, in place of outputs. */
  readonly parts?: readonly LoggedPart[];
}

/** A part of an answer. */
export interface LoggedPart {
  readonly outputs: LoggedPayload;
  /** Milliseconds from the arrival of the request. */
  readonly afterMs: number;
}

/** A payload, and the dtypes for tensors from JSON. */
interface LoggedPayload {
  readonly payload: Payload;
  readonly wanted: readonly WantedInput[];
}

/** A request as it is recorded, without its answer. Its inputs are not copied. */
export function loggedPredict({ version, label }: ModelRef, model: string, request: InferRequest): LoggedPredict {
  const { signature, inputs, outputs: outputFilter = [] } = request;
  const chosen = { ...(version !== undefined && { version }), ...(label !== undefined && { label }) };
  const spec = { ...chosen, model, signature: signature.name, versionEncoding: "int64" } as const;
  return { kind: "tensors", spec, outputFilter, inputs: toLogged(inputs, signature.spec?.inputs) };
}

/** A payload with the dtypes that a model says of it. */
export function toLogged(payload: Payload, specs: readonly TensorSpec[] = []): LoggedPayload {
  return { payload, wanted: specs.map(({ name, dtype }) => ({ name, dtype })) };
}

/** Makes a record of a TFRecord file of a request. Throws `invalid_argument` for JSON that does not become tensors. */
async function toRecord({ metadata, content }: LoggedRequest): Promise<Uint8Array> {
  const log = content.kind === "tensors" ? await toPredictLog(content, metadata.spec) : content;
  return frameRecord(encodePredictionLog(log, metadata));
}

/** {@link toRecord} for a codec thread. */
export const toRecordJob = defineJob(import.meta.url, "toRecordJob", toRecord);

async function toPredictLog(
  { spec, outputFilter, outputs, parts, ...given }: LoggedPredict,
  answered: ModelSpec,
): Promise<PredictionLog> {
  const inputs = await toTensors(given.inputs);
  const request = encodePredictRequest({ spec, inputs, outputFilter }, "content");
  const toResponse = async (payload: LoggedPayload) =>
    encodePredictResponse({ spec: answered, outputs: await toTensors(payload) }, "content");
  if (parts === undefined) return { kind: "predict_log", request, response: outputs && (await toResponse(outputs)) };
  const written = parts.map(async (part) => ({ response: await toResponse(part.outputs), afterMs: part.afterMs }));
  return { kind: "predict_streamed_log", request, parts: await Promise.all(written) };
}

function toTensors({ payload, wanted }: LoggedPayload): Tensors | Promise<Tensors> {
  return payload.kind === "tensors" ? payload.tensors : openJsonJob.run(payload.json, wanted);
}

/** Bytes before a record: its length in 8, the masked CRC-32C of these in 4. */
const HEAD_BYTES = 12;
/** Bytes after a record: its masked CRC-32C. */
const TAIL_BYTES = 4;

/** A message as a record of a TFRecord file: https://www.tensorflow.org/tutorials/load_data/tfrecord */
export function frameRecord(message: Uint8Array): Uint8Array {
  const record = Buffer.allocUnsafe(HEAD_BYTES + message.length + TAIL_BYTES);
  record.writeBigUInt64LE(BigInt(message.length), 0);
  record.writeUInt32LE(maskedCrc32c(record.subarray(0, 8)), 8);
  record.set(message, HEAD_BYTES);
  record.writeUInt32LE(maskCrc32c(crc32c(message)), HEAD_BYTES + message.length);
  return record;
}
