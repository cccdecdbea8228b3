import { WireReader } from "../codecs/protobuf/wire-reader.ts";
import { bytesField, encodeMessage, messageField } from "../codecs/protobuf/wire-writer.ts";
import { modelSpecParts, NO_MODEL_SPEC, readModelSpec } from "../protocols/tensorflow-serving/model-spec.ts";
import type { LogKind } from "../protocols/tensorflow-serving/prediction-log-message.ts";
import { splitField } from "./message-fields.ts";

/** Field of the ModelSpec in every request and in a task of MultiInference, and of the tasks. */
const MODEL_SPEC = 1;
const TASKS = 1;

/** The request for another model, whichever version that has; its signature stays. */
export function retarget(kind: LogKind, request: Uint8Array, model: string): Uint8Array {
  if (kind !== "multi_inference_log") return withModel(request, model);
  const { contents, others } = splitField(request, TASKS);
  const tasks = encodeMessage(contents.map((task) => bytesField(TASKS, withModel(task, model))));
  return Buffer.concat([tasks, others]);
}

function withModel(message: Uint8Array, model: string): Uint8Array {
  const { contents, others } = splitField(message, MODEL_SPEC);
  const recorded = contents.reduce(
    (spec, bytes) => readModelSpec(new WireReader(bytes, "ModelSpec"), spec),
    NO_MODEL_SPEC,
  );
  const spec = { model, signature: recorded.signature, versionEncoding: "int64" } as const;
  return Buffer.concat([encodeMessage([messageField(MODEL_SPEC, modelSpecParts(spec))]), others]);
}
