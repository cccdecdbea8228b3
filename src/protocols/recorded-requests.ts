import { codecs } from "../platform/codec-host/codec-pool.ts";
import { defineJob } from "../platform/codec-host/job.ts";
import { LARGE_MESSAGE_BYTES } from "../platform/codec-host/large-message.ts";
import { DecodeBudget } from "../platform/limits/memory/decode-budget.ts";
import type { ProtocolSettings } from "../platform/limits/settings/server-settings.ts";
import type { RecordedFor, RecordedRequest, RecordedRequests } from "../serving/recorded-request.ts";
import { requestNames } from "../serving/request-names.ts";
import { isJsonList, isJsonObject, type JsonObject } from "../tensor/codecs/json/json-value.ts";
import { chooseSignature, toPlainSignatures } from "../tensor/signature/choose-signature.ts";
import type { Signature } from "../tensor/signature/signature.ts";
import { toCheckedRequest } from "./kserve/check-request.ts";
import { decodeInfer } from "./kserve/http-decode.ts";
import { parseKserveObject } from "./kserve/http-request.ts";
import type { KserveRequest } from "./kserve/kserve-request.ts";
import { namesSharedMemory, refuseSharedMemory } from "./kserve/refuse-shared-memory.ts";
import { decodePredict, type PredictMessage } from "./tensorflow-serving/http-request.ts";
import { readPredictionLog } from "./tensorflow-serving/prediction-log.ts";

/** Recorded requests of this server's protocols; `maxBytes` limits the memory of a decoded one. */
export function recordedRequests(maxBytes: number, settings?: ProtocolSettings): RecordedRequests {
  return {
    readLog: async (bytes, target) => {
      const requests = await readPredictionLog(bytes, target, { maxBytes, settings });
      return requests && "kind" in requests ? requests : requests?.map((each) => underDeclaredNames(each, target));
    },
    readJson: async (body, target) => underDeclaredNames(await readJson(body, target, maxBytes), target),
  };
}

type Signatures = Readonly<Record<string, Signature>>;
type DecodedJson = { readonly infer: KserveRequest } | { readonly predict: PredictMessage };

/** The request as the model itself runs it, without the lease that knows the runtime's own names. */
function underDeclaredNames(request: RecordedRequest, { signatures }: RecordedFor): RecordedRequest {
  const { signature, inputs: tensors, outputs } = request;
  const names = requestNames(signature, signatures)?.toDeclared({ inputs: { kind: "tensors", tensors }, outputs });
  if (names?.inputs.kind !== "tensors") return request;
  return { signature, inputs: names.inputs.tensors, outputs: names.outputs };
}

async function readJson(body: Uint8Array, target: RecordedFor, maxBytes: number): Promise<RecordedRequest> {
  const { model, signatures, signal } = target;
  const isLarge = body.length > LARGE_MESSAGE_BYTES;
  const decoded = isLarge
    ? await codecs.run(decodeRecordedJob, [body, toPlainSignatures(signatures), maxBytes], { signal })
    : decodeRecorded(body, signatures, maxBytes);
  if ("infer" in decoded) {
    if (namesSharedMemory(decoded.infer)) throw refuseSharedMemory(decoded.infer);
    return toCheckedRequest(decoded.infer, { model, version: 0n, drivers: [], signatures });
  }
  const { signature: name, inputs } = decoded.predict;
  return {
    signature: chooseSignature(name, signatures, { inputs: Object.keys(inputs) }) ?? { name, spec: undefined },
    inputs,
  };
}

/** Decodes a request's JSON, whose content determines its protocol. */
function decodeRecorded(body: Uint8Array, signatures: Signatures, maxBytes: number): DecodedJson {
  if (!isKserve(parseKserveObject(body, new DecodeBudget(maxBytes))))
    return { predict: decodePredict(body, signatures, maxBytes) };
  const options = { model: "", version: "", headerLength: body.length, maxBytes };
  return { infer: decodeInfer(body, options)! };
}

/** {@link decodeRecorded} for a codec thread. */
export const decodeRecordedJob = defineJob(import.meta.url, "decodeRecordedJob", decodeRecorded);

/** V2 describes each input; TensorFlow Serving's `inputs` hold values. */
function isKserve({ inputs = null }: JsonObject): boolean {
  return isJsonList(inputs) && inputs.some((input) => isJsonObject(input) && "datatype" in input);
}
