import type { MessageClient } from "../../client/remote/grpc-client.ts";
import { decodeStreamResponse, encodeInferRequest } from "../../client/remote/infer-message.ts";
import { publicText, ServingError } from "../../errors.ts";
import {
  CLASS,
  CLASSES,
  CLASSIFICATIONS,
  INFERENCE_RESULT,
  REGRESSION_VALUE,
  REGRESSIONS,
  RESPONSE,
  RESULTS,
} from "../../protocols/tensorflow-serving/examples/result-fields.ts";
import { decodePredictRequest, decodePredictResponse } from "../../protocols/tensorflow-serving/grpc-codec.ts";
import { modelSpecParts, NO_MODEL_SPEC, readModelSpec } from "../../protocols/tensorflow-serving/model-spec.ts";
import type { LogKind } from "../../protocols/tensorflow-serving/prediction-log-message.ts";
import { bytesTag, tagOf, WIRE, WireReader } from "../../tensor/codecs/protobuf/wire-reader.ts";
import { bytesField, encodeMessage, messageField } from "../../tensor/codecs/protobuf/wire-writer.ts";
import { DEFAULT_SIGNATURE } from "../../tensor/signature/signature.ts";
import { createTensor, createTensors, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import { compareParts, compareTensors, type Difference, type Tolerances } from "./compare-tensors.ts";
import { Pace, type ReplayRate } from "./pace.ts";
import { type RecordedCall, recordedCalls } from "./recorded-calls.ts";
import { ReplayOutcome } from "./replay-outcome.ts";

/** Requests to send again, and how. */
export interface ReplayOptions {
  readonly files: readonly string[];
  readonly rate: ReplayRate;
  /** Maximum number of requests at a time. */
  readonly concurrency: number;
  /** Model to use instead of the recorded one. */
  readonly model?: string | undefined;
  readonly tolerances: Tolerances;
  /** Milliseconds after which a request fails. */
  readonly timeoutMs: number;
  /** Sends no further requests once it aborts. */
  readonly signal?: AbortSignal;
  /** Notified of the results so far before each request. */
  readonly onProgress?: (outcome: ReplayOutcome) => void;
}

/** Sends recorded requests in their order and compares the answers; rejects for a file that holds something else. */
export async function runReplay(client: MessageClient, options: ReplayOptions): Promise<ReplayOutcome> {
  const outcome = new ReplayOutcome();
  const pace = new Pace(options.rate, options.concurrency, options.signal);
  for (const file of options.files) {
    if (options.signal?.aborted) break;
    for await (const call of recordedCalls(file, outcome)) {
      if (options.rate === "recorded" && call.timeMs === undefined) outcome.untimed++;
      await pace.next(call.timeMs);
      if (options.signal?.aborted) break;
      options.onProgress?.(outcome);
      pace.run(() => send(client, call, { ...options, outcome }));
    }
  }
  await pace.finished();
  return outcome;
}

type Sending = Pick<ReplayOptions, "model" | "tolerances" | "timeoutMs"> & { readonly outcome: ReplayOutcome };

async function send(client: MessageClient, call: RecordedCall, { model, outcome, ...options }: Sending): Promise<void> {
  const { kind, path, request, place } = call;
  try {
    if (call.parts !== undefined) return await sendForParts(client, call, { model, outcome, ...options });
    const message = model === undefined ? request : retarget(kind, request, model);
    const started = performance.now();
    const answer = await client.call(path, message, options.timeoutMs);
    const latencyMs = performance.now() - started;
    outcome.answered(place, latencyMs, differencesOf(call, answer, options.tolerances));
  } catch (reason) {
    outcome.fail(place, `${ServingError.from(reason).code}: ${publicText(reason)}`);
  }
}

/** Over KServe's stream, which is left once there is a part more than were recorded: it may be endless. */
async function sendForParts(
  client: MessageClient,
  { path, request, place, parts = [] }: RecordedCall,
  { model, outcome, tolerances, timeoutMs }: Sending,
): Promise<void> {
  const { spec, inputs, outputFilter: outputs } = decodePredictRequest(request, MAX_BYTES);
  const target = model === undefined ? { model: spec.model, version: String(spec.version ?? "") } : { model };
  const isDefault = spec.signature === "" || spec.signature === DEFAULT_SIGNATURE;
  const parameters = isDefault ? {} : { signature_name: spec.signature };
  const asked = encodeInferRequest({ ...target, inputs, outputs, parameters });
  const started = performance.now();
  const came: Tensors[] = [];
  const times: number[] = [];
  for await (const message of client.stream(path, asked, timeoutMs)) {
    const { errorText, outputs: part } = decodeStreamResponse(message);
    if (errorText !== "") throw new ServingError("unknown", `${errorText} (after ${came.length} parts)`);
    came.push(part);
    times.push(performance.now() - started);
    if (came.length > parts.length) break;
  }
  const recorded = parts.map(({ response }) => answerTensors("predict_log", response));
  outcome.answered(place, performance.now() - started, partDifferences(recorded, came, tolerances));
  outcome.addParts(
    parts.map(({ afterMs }) => afterMs).filter((ms) => ms > 0),
    times,
  );
}

/** The greatest difference of each output, and that of the number of parts. */
function partDifferences(
  recorded: readonly Tensors[],
  came: readonly Tensors[],
  tolerances: Tolerances,
): readonly Difference[] {
  const worst = compareParts(recorded, came, tolerances);
  if (recorded.length === came.length) return worst;
  const text = `${recorded.length} were recorded, ${came.length > recorded.length ? "more" : came.length} came`;
  return [{ output: "(parts)", distance: Number.POSITIVE_INFINITY, text }, ...worst];
}

function differencesOf(
  { kind, response }: RecordedCall,
  answer: Uint8Array,
  tolerances: Tolerances,
): readonly Difference[] | undefined {
  if (response === undefined) return undefined;
  return compareTensors(answerTensors(kind, response), answerTensors(kind, answer), tolerances);
}

/** Field of the ModelSpec in every request and in a task of MultiInference, and of the tasks. */
const MODEL_SPEC = 1;
const TASKS = 1;

/** The request for another model, whichever version that has; its signature stays. */
function retarget(kind: LogKind, request: Uint8Array, model: string): Uint8Array {
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

/** Field of SessionRunResponse's metadata; its tensors are written as those of a PredictResponse. */
const RUN_METADATA = 2;
/** Memory limit of an answer's tensors, in bytes. */
const MAX_BYTES = 2 ** 40;

/** The values of a serialised response by name, to be compared; throws `invalid_argument` for malformed bytes. */
function answerTensors(kind: LogKind, bytes: Uint8Array): Tensors {
  switch (kind) {
    case "classify_log":
      return createTensors(resultsOf(bytes).flatMap((result) => classifications(result, "")));
    case "regress_log":
      return createTensors(resultsOf(bytes).flatMap((result) => regressions(result, "")));
    case "multi_inference_log":
      return createTensors(splitField(bytes, RESULTS).contents.flatMap(inferenceResult));
    case "session_run_log":
      return decodePredictResponse(splitField(bytes, RUN_METADATA).others, MAX_BYTES).outputs;
    default:
      return decodePredictResponse(bytes, MAX_BYTES).outputs;
  }
}

type Named = [name: string, tensor: Tensor];

function resultsOf(bytes: Uint8Array): readonly Uint8Array[] {
  return splitField(bytes, RESPONSE.result).contents;
}

function inferenceResult(bytes: Uint8Array): Named[] {
  const { contents: specs, others } = splitField(bytes, INFERENCE_RESULT.modelSpec);
  const { signature } = specs.reduce(
    (spec, one) => readModelSpec(new WireReader(one, "ModelSpec"), spec),
    NO_MODEL_SPEC,
  );
  const prefix = `${signature || "serving_default"}.`;
  const classified = splitField(others, INFERENCE_RESULT.classify);
  const regressed = splitField(classified.others, INFERENCE_RESULT.regress);
  return [
    ...classified.contents.flatMap((result) => classifications(result, prefix)),
    ...regressed.contents.flatMap((result) => regressions(result, prefix)),
  ];
}

function classifications(result: Uint8Array, prefix: string): Named[] {
  const rows = splitField(result, CLASSIFICATIONS).contents.map((row) =>
    splitField(row, CLASSES).contents.map(readClass),
  );
  const classes = rows.flat();
  // Rows may have different numbers of classes.
  const shape = [classes.length];
  return [
    [
      `${prefix}classes`,
      createTensor(
        "bytes",
        shape,
        classes.map(({ label }) => label),
      ),
    ],
    [
      `${prefix}scores`,
      createTensor(
        "float32",
        shape,
        Float32Array.from(classes, ({ score }) => score),
      ),
    ],
  ];
}

function readClass(bytes: Uint8Array): { readonly label: Uint8Array; readonly score: number } {
  const [label = new Uint8Array(0)] = splitField(bytes, CLASS.label).contents.slice(-1);
  return { label, score: readFloat(bytes, CLASS.score) };
}

function regressions(result: Uint8Array, prefix: string): Named[] {
  const values = splitField(result, REGRESSIONS).contents.map((one) => readFloat(one, REGRESSION_VALUE));
  return [[`${prefix}outputs`, createTensor("float32", [values.length], Float32Array.from(values))]];
}

/** 0 if the field is absent. */
function readFloat(bytes: Uint8Array, field: number): number {
  const reader = new WireReader(bytes, "message");
  let value = 0;
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag !== tagOf(field, WIRE.fixed32)) reader.skip(tag);
    else {
      const four = reader.take(Float32Array.BYTES_PER_ELEMENT);
      value = new DataView(four.buffer, four.byteOffset).getFloat32(0, true);
    }
  }
  return value;
}

/** A protobuf message without one of its length-delimited fields, and the contents of that field. */
interface SplitMessage {
  readonly others: Uint8Array;
  readonly contents: readonly Uint8Array[];
}

/** Takes a length-delimited field out of a message; throws `invalid_argument` for malformed bytes. */
function splitField(bytes: Uint8Array, field: number): SplitMessage {
  const reader = new WireReader(bytes, "message");
  const kept: Uint8Array[] = [];
  const contents: Uint8Array[] = [];
  while (reader.hasMore()) {
    const start = bytes.length - reader.left;
    const tag = reader.tag();
    if (tag === bytesTag(field)) contents.push(reader.bytes());
    else {
      reader.skip(tag);
      kept.push(bytes.subarray(start, bytes.length - reader.left));
    }
  }
  return { others: Buffer.concat(kept), contents };
}
