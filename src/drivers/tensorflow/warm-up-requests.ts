import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fromBinary } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { DEFAULT_SIGNATURE } from "../../signature/signature.ts";
import { createTensors, type Tensors } from "../../tensor/tensor.ts";
import type { TensorProto } from "./saved-model/graph-def.ts";
import { fromTensorProto } from "./saved-model/tensor-proto.ts";
import { messageSchema } from "./saved-model/tensorflow-messages.ts";

/** A request that a model's maker has left for servers to run before they are ready. */
export interface WarmUpRequest {
  readonly signature: string;
  readonly inputs: Tensors;
}

/** File in which TensorFlow Serving looks for them: https://www.tensorflow.org/tfx/serving/saved_model_warmup */
const FILE = "assets.extra/tf_serving_warmup_requests";
/** TensorFlow Serving runs no more of them. */
const MAX_REQUESTS = 1000;

// Field numbers: prediction_log.proto, predict.proto and model.proto of TensorFlow Serving.
const PREDICTION_LOG = { predictLog: 6 };
const PREDICT_LOG = { request: 1 };
const PREDICT_REQUEST = { modelSpec: 1, inputs: 2 };
const MODEL_SPEC = { signatureName: 3 };
const MAP_ENTRY = { key: 1, value: 2 };

/** The predict requests beside a SavedModel; none where there is no such file. Throws for one that is damaged. */
export function readWarmUpRequests(folder: string): WarmUpRequest[] {
  const path = join(folder, FILE);
  if (!existsSync(path)) return [];
  return [...records(readFileSync(path))].slice(0, MAX_REQUESTS).flatMap(parsePredictionLog);
}

/** A TFRecord file: each record between its length with a checksum and a checksum of its own. */
function* records(bytes: Buffer): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; ) {
    const length = Number(bytes.readBigUInt64LE(start));
    const end = start + 12 + length;
    if (end + 4 > bytes.length) throw new RangeError(`${FILE} is cut short.`);
    yield bytes.subarray(start + 12, end);
    start = end + 4;
  }
}

/** Other kinds of requests than Predict are left alone. */
function parsePredictionLog(bytes: Uint8Array): WarmUpRequest[] {
  const logs = fieldsOf(bytes, PREDICTION_LOG.predictLog);
  return logs.flatMap((log) => fieldsOf(log, PREDICT_LOG.request)).map(parsePredictRequest);
}

function parsePredictRequest(bytes: Uint8Array): WarmUpRequest {
  const [name] = fieldsOf(bytes, PREDICT_REQUEST.modelSpec).flatMap((spec) => fieldsOf(spec, MODEL_SPEC.signatureName));
  const inputs = fieldsOf(bytes, PREDICT_REQUEST.inputs).map((entry) => {
    const key = Buffer.concat(fieldsOf(entry, MAP_ENTRY.key)).toString();
    const proto = fromBinary(messageSchema("TensorProto"), Buffer.concat(fieldsOf(entry, MAP_ENTRY.value)));
    return [key, fromTensorProto(proto as unknown as TensorProto, `input "${key}" of a warm-up request`)] as const;
  });
  return { signature: Buffer.from(name ?? "").toString() || DEFAULT_SIGNATURE, inputs: createTensors(inputs) };
}

/** The contents of a message's fields of one number, which are bytes, texts or messages. */
function fieldsOf(message: Uint8Array, number: number): Uint8Array[] {
  const reader = new BinaryReader(message);
  const found: Uint8Array[] = [];
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === number && wireType === WireType.LengthDelimited) found.push(reader.bytes());
    else reader.skip(wireType, field);
  }
  return found;
}
