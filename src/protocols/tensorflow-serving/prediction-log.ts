import { codecs } from "../../codec-host/codecs.ts";
import type { RecordedFor, RecordedRequest } from "../../serving/recorded-request.ts";
import { methodOf } from "./examples/example-methods.ts";
import {
  copyExamples,
  type ExampleRequest,
  type ExampleTask,
  isLargeRequest,
  readMultiJob,
  readSingleJob,
} from "./examples/example-request.ts";
import { type ExampleMethod, namedOutputs } from "./examples/results.ts";
import { findSignature, toInputs } from "./examples/run-examples.ts";
import { decodePredictRequestJob, decodePredictRequestQuickly } from "./grpc-codec.ts";
import { checkSignature } from "./grpc-signature.ts";
import { type PredictionLog, readPredictionLogMessage } from "./prediction-log-message.ts";

/** Limits on the memory of a log's values. */
interface LogOptions {
  readonly target: RecordedFor;
  readonly maxBytes: number;
}

/**
 * Reads the requests of a PredictionLog as their APIs read them, with the same checks and texts; MultiInference has one
 * for each task. Returns the name of a log that is not run, undefined for an empty log.
 */
export async function readPredictionLog(
  bytes: Uint8Array,
  target: RecordedFor,
  maxBytes: number,
): Promise<readonly RecordedRequest[] | string | undefined> {
  const log = readPredictionLogMessage(bytes);
  const options = { target, maxBytes };
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
      return log?.kind;
  }
}

async function readPredict({ request: message }: PredictionLog, { target, maxBytes }: LogOptions) {
  const { signatures, signal, model } = target;
  const request =
    decodePredictRequestQuickly(message, maxBytes) ??
    (await codecs.run(decodePredictRequestJob, [message, maxBytes], { signal }));
  const { inputs, outputFilter } = request;
  const signature = checkSignature(request, { model, version: 0n, drivers: [], signatures });
  return { signature, inputs, ...(outputFilter.length > 0 && { outputs: outputFilter }) };
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
  { target, maxBytes, method = methodOf(name) }: ExampleOptions,
): Promise<RecordedRequest> {
  const signature = findSignature(target, spec.signature);
  const inputs = await toInputs(signature, { examples: copyExamples(examples), call: target, maxBytes });
  return { signature, inputs, outputs: namedOutputs(method, signature.spec ?? {}) };
}
