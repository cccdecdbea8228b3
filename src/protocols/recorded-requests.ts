import { codecs } from "../platform/codec-host/codec-pool.ts";
import { defineJob } from "../platform/codec-host/job.ts";
import { LARGE_MESSAGE_BYTES } from "../platform/codec-host/large-message.ts";
import { DecodeBudget } from "../platform/limits/memory/decode-budget.ts";
import type { ProtocolSettings } from "../platform/limits/settings/server-settings.ts";
import type { RecordedFor, RecordedRequest, RecordedRequests, UnusedLog } from "../serving/recorded-request.ts";
import { requestNames } from "../serving/request-names.ts";
import { isJsonList, isJsonObject, type JsonObject } from "../tensor/codecs/json/json-value.ts";
import { chooseSignature, toPlainSignatures } from "../tensor/signature/choose-signature.ts";
import type { Signature } from "../tensor/signature/signature.ts";
import { toCheckedRequest } from "./kserve/check-request.ts";
import { decodeInfer } from "./kserve/http-decode.ts";
import { parseKserveObject } from "./kserve/http-request.ts";
import type { KserveRequest } from "./kserve/kserve-request.ts";
import { namesSharedMemory, refuseSharedMemory } from "./kserve/shared-memory-places.ts";
import { methodOf } from "./tensorflow-serving/examples/example-methods.ts";
import {
  copyExamples,
  type ExampleRequest,
  type ExampleTask,
  isLargeRequest,
  readMultiJob,
  readSingleJob,
} from "./tensorflow-serving/examples/example-request.ts";
import { type ExampleMethod, namedOutputs } from "./tensorflow-serving/examples/results.ts";
import { findSignature, toInputs } from "./tensorflow-serving/examples/run-examples.ts";
import { decodePredictRequestJob, decodePredictRequestQuickly } from "./tensorflow-serving/grpc-codec.ts";
import { checkSignature, wantedOutputs } from "./tensorflow-serving/grpc-signature.ts";
import { decodePredict, type PredictMessage } from "./tensorflow-serving/http-request.ts";
import { checkMethodName } from "./tensorflow-serving/method-names.ts";
import { LOGS, type PredictionLog, readPredictionLogMessage } from "./tensorflow-serving/prediction-log-message.ts";

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

/** Options of {@link readPredictionLog}. */
interface ReadingOptions {
  /** Limit on the memory of a log's values. */
  readonly maxBytes: number;
  readonly settings?: ProtocolSettings | undefined;
}

interface LogOptions extends ReadingOptions {
  readonly target: RecordedFor;
}

/**
 * Reads the requests of a PredictionLog as their APIs read them, with the same checks and texts; MultiInference has one
 * for each task. Returns the kind of a log that is not run, undefined for an empty log.
 */
async function readPredictionLog(
  bytes: Uint8Array,
  target: RecordedFor,
  reading: ReadingOptions,
): Promise<readonly RecordedRequest[] | UnusedLog | undefined> {
  const log = readPredictionLogMessage(bytes);
  const options = { target, ...reading };
  switch (log?.kind) {
    case "predict_log":
      return [await readPredict(log, options)];
    case "classify_log":
      return readExamples(log, readSingleJob, { ...options, method: "classify" });
    case "regress_log":
      return readExamples(log, readSingleJob, { ...options, method: "regress" });
    case "multi_inference_log":
      return readExamples(log, readMultiJob, options);
    default:
      return log && { kind: log.kind, field: LOGS[log.kind] };
  }
}

async function readPredict({ request: message }: PredictionLog, { target, maxBytes, settings }: LogOptions) {
  const { signatures, signal, model } = target;
  const request =
    decodePredictRequestQuickly(message, maxBytes) ??
    (await codecs.run(decodePredictRequestJob, [message, maxBytes], { signal }));
  const { inputs, outputFilter } = request;
  const servable = { model, version: 0n, drivers: [], signatures };
  const signature = checkSignature(request, servable, settings);
  const outputs = wantedOutputs(outputFilter, signature.spec);
  return { signature, inputs, ...(outputs && { outputs }) };
}

type ExampleOptions = LogOptions & { readonly method?: ExampleMethod };

async function readExamples(
  { request: message }: PredictionLog,
  job: typeof readSingleJob,
  options: ExampleOptions,
): Promise<readonly RecordedRequest[]> {
  const { target, maxBytes } = options;
  const { signal } = target;
  const request = isLargeRequest(message)
    ? await codecs.run(job, [message, maxBytes], { signal })
    : await job.run(message, maxBytes);
  return Promise.all(request.tasks.map((task) => toRequest(task, request, options)));
}

async function toRequest(
  { spec, method: name }: ExampleTask,
  { examples }: ExampleRequest,
  { target, maxBytes, settings, method = methodOf(name) }: ExampleOptions,
): Promise<RecordedRequest> {
  const signature = findSignature(target, spec.signature);
  checkMethodName(method, signature.spec, settings);
  const inputs = await toInputs(signature, { examples: copyExamples(examples), call: target, maxBytes });
  return { signature, inputs, outputs: namedOutputs(method, signature.spec ?? {}) };
}
