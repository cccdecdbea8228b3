import { invalidArgument } from "../../../errors.ts";
import { frameBytes } from "../../../grpc/framed-message.ts";
import type { CallInfo, GrpcProtocolOptions, UnaryMethod } from "../../../grpc/grpc-route.ts";
import { decodeInThread, encodeInThread } from "../../../platform/codec-host/codec-jobs.ts";
import type { InferenceService, Lease } from "../../../serving/inference-service.ts";
import { defaultSignatureName } from "../../../tensor/signature/signature.ts";
import { byteSize } from "../../../tensor/tensor.ts";
import { assertNamesModel, type ModelSpec } from "../model-spec.ts";
import { recordedBytes } from "../recorded-bytes.ts";
import { EXAMPLE_LOGS, methodOf } from "./example-methods.ts";
import {
  copyExamples,
  type ExampleRequest,
  type ExampleTask,
  isLargeRequest,
  readMultiJob,
  readSingleJob,
  recordedRequest,
} from "./example-request.ts";
import {
  encodeResult,
  encodeResultJob,
  encodeResults,
  encodeResultsJob,
  isLargeResult,
  type TaskResult,
} from "./result-messages.ts";
import type { ExampleMethod } from "./results.ts";
import { type ExampleRun, runExamples } from "./run-examples.ts";

/** PredictionService.Classify or Regress. */
export function exampleMethod(
  service: InferenceService,
  method: ExampleMethod,
  { maxMessageBytes: maxBytes, settings }: GrpcProtocolOptions,
): UnaryMethod {
  return async (message, call) => {
    const { tasks, examples } = await readRequest(readSingleJob, message, { call, maxBytes });
    const { spec } = tasks[0] as ExampleTask;
    if (settings.requireModelSpec) assertNamesModel(spec);
    call.record.model = spec.model;
    const lease = await service.acquire(spec, call);
    try {
      const recording = lease.recordAs?.(EXAMPLE_LOGS[method], recordedRequest({ tasks, examples }));
      const run = { method, signature: spec.signature, settings, examples, call, maxBytes };
      const { result, metadata } = await runTask(lease, spec, run);
      const encoded = isLargeResult(result.result)
        ? await encodeInThread(encodeResultJob, [result], call)
        : encodeResult(result);
      recording?.finish(recordedBytes(encoded));
      return { message: frameBytes(encoded), metadata };
    } finally {
      lease.release();
    }
  };
}

/** PredictionService.MultiInference: several signatures of one version of a model, on the same examples. */
export function multiInferenceMethod(
  service: InferenceService,
  { maxMessageBytes: maxBytes, settings }: GrpcProtocolOptions,
): UnaryMethod {
  return async (message, call) => {
    const { tasks, examples } = await readRequest(readMultiJob, message, { call, maxBytes });
    const model = modelOf(tasks);
    call.record.model = model;
    // The version of the first counts, as in the original.
    const lease = await service.acquire((tasks[0] as ExampleTask).spec, call);
    try {
      const recording = lease.recordAs?.("multi_inference_log", recordedRequest({ tasks, examples }));
      const { results, metadata } = await runTasks(lease, tasks, { examples, settings, call, maxBytes });
      const encoded = results.some(({ result }) => isLargeResult(result))
        ? await encodeInThread(encodeResultsJob, [results], call)
        : encodeResults(results);
      recording?.finish(recordedBytes(encoded));
      return { message: frameBytes(encoded), metadata };
    } finally {
      lease.release();
    }
  };
}

type Shared = Pick<ExampleRun, "examples" | "maxBytes" | "settings"> & { readonly call: CallInfo };

async function runTasks(lease: Lease, tasks: readonly ExampleTask[], shared: Shared) {
  checkSignatures(lease, tasks);
  const runs = tasks.map(({ spec, method: name }) => {
    return { spec, run: { ...shared, method: methodOf(name), signature: spec.signature } };
  });
  const results: TaskResult[] = [];
  const metadata: Record<string, string> = {};
  for (const [index, { spec, run }] of runs.entries()) {
    // A run is given its inputs for good.
    const isLast = index === runs.length - 1;
    if (!isLast) run.call.memory.growTo(2 * byteSize(run.examples));
    const examples = isLast ? run.examples : copyExamples(run.examples);
    const { result, metadata: own } = await runTask(lease, spec, { ...run, examples });
    results.push(result);
    Object.assign(metadata, own);
  }
  return { results, metadata };
}

interface Reading {
  readonly call: CallInfo;
  readonly maxBytes: number;
}

async function readRequest(
  job: typeof readSingleJob,
  message: Uint8Array,
  { call, maxBytes }: Reading,
): Promise<ExampleRequest> {
  if (isLargeRequest(message)) return decodeInThread(job, [message, maxBytes], { ...call, message, maxBytes });
  return job.run(message, maxBytes);
}

async function runTask(lease: Lease, { versionEncoding }: ModelSpec, run: ExampleRun) {
  const { answer, result } = await runExamples(lease, run);
  const { model, version, signature, metadata } = answer;
  return { result: { spec: { model, version, signature, versionEncoding }, result } satisfies TaskResult, metadata };
}

/** The one model that all tasks name. */
function modelOf(tasks: readonly ExampleTask[]): string {
  const [first] = tasks;
  if (first === undefined) throw invalidArgument("The request has no tasks; expected one for each signature to run.");
  if (tasks.some(({ spec }) => spec.model === "")) throw invalidArgument("Found ModelSpec with an empty model name.");
  if (tasks.every(({ spec }) => spec.model === first.spec.model)) return first.spec.model;
  throw invalidArgument("All ModelSpecs in a MultiInferenceRequest must access the same model name.");
}

function checkSignatures({ description }: Lease, tasks: readonly ExampleTask[]): void {
  const { signatures } = description;
  const seen = new Set<string>();
  for (const { spec } of tasks) {
    const name = spec.signature || defaultSignatureName(signatures);
    if (seen.has(name)) throw invalidArgument(`Duplicate evaluation of signature: ${name}`);
    seen.add(name);
    const isKnown = Object.hasOwn(signatures, name) || Object.keys(signatures).length === 0;
    if (!isKnown) throw invalidArgument(`Requested signature not found in model graph: ${name}`);
  }
}
