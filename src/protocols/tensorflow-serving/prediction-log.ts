import { codecs } from "../../platform/codec-host/codec-pool.ts";
import type { ProtocolSettings } from "../../platform/limits/settings/server-settings.ts";
import type { RecordedFor, RecordedRequest, UnusedLog } from "../../serving/recorded-request.ts";
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
import { checkSignature, wantedOutputs } from "./grpc-signature.ts";
import { checkMethodName } from "./method-names.ts";
import { LOGS, type PredictionLog, readPredictionLogMessage } from "./prediction-log-message.ts";

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
export async function readPredictionLog(
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
