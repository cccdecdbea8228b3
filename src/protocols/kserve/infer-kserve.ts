import type { JobOptions } from "../../codec-host/codec-pool.ts";
import { codecs } from "../../codec-host/codecs.ts";
import { MANY_ELEMENTS } from "../../codec-host/large-message.ts";
import { ServingError } from "../../errors.ts";
import type { CallOptions, InferenceService, Lease, ServableDescription } from "../../serving/inference-service.ts";
import type { RecordedRequest } from "../../serving/recorded-request.ts";
import { requireSignature } from "../../serving/require-signature.ts";
import type { Signature } from "../../signature/signature.ts";
import { createTensors, elementCount, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import { answeredTensors } from "../answered-tensors.ts";
import { checkRequest } from "./check-request.ts";
import { CLASS_BYTES, type ClassifiedOutput, classify, classifyJob } from "./classify.ts";
import { datatypeOf } from "./datatype.ts";
import { acquireModel, toModelRef } from "./model-ref.ts";
import { type Parameters, readScheduling, readUnsigned, refuseSharedMemory, type Scheduling } from "./parameters.ts";

/** A ModelInferRequest of either transport, its inputs as tensors. */
export interface KserveRequest {
  readonly model: string;
  /** As the client wrote it; empty = the highest. */
  readonly version: string;
  /** Empty = the client set none. */
  readonly id: string;
  readonly parameters: Parameters;
  /** In the client's order. */
  readonly inputs: readonly (readonly [name: string, tensor: Tensor])[];
  /** Empty = all. */
  readonly outputs: readonly RequestedOutput[];
}

/** A requested output. */
export interface RequestedOutput {
  readonly name: string;
  readonly parameters: Parameters;
}

/** The answer to an inference request, the same for either transport. */
export interface KserveAnswer {
  readonly model: string;
  readonly version: bigint;
  readonly id: string;
  readonly outputs: readonly AnsweredOutput[];
  /** gRPC metadata or HTTP headers that hooks set. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** An output, and the protocol's name of its dtype. */
export interface AnsweredOutput {
  readonly name: string;
  readonly datatype: string;
  readonly tensor: Tensor;
}

/** Runs one request: resolves the model, checks, infers, filters, classifies. Throws {@link ServingError} with Triton's texts. */
export async function inferKserve(
  service: InferenceService,
  request: KserveRequest,
  call: CallOptions,
): Promise<KserveAnswer> {
  noteRequest(request, call);
  const ref = toModelRef(request.model, request.version);
  return inferLeased(await acquireModel(service, ref, call), request, call);
}

/** Records the request's id and model name for the log. */
function noteRequest({ model, id }: KserveRequest, { record }: CallOptions): void {
  if (record === undefined) return;
  record.model = model;
  if (id !== "") record.id = id;
}

/** Runs a request as {@link inferKserve} does, on a leased model, and releases the lease. */
export async function inferLeased(lease: Lease, request: KserveRequest, call: CallOptions): Promise<KserveAnswer> {
  try {
    const { signature, inputs, outputs: wanted, scheduling } = toCheckedRequest(request, lease.description);
    const answer = await lease.infer({
      signature,
      inputs: { kind: "tensors", tensors: inputs },
      outputs: wanted,
      call: withScheduling(call, request.id, scheduling),
    });
    const outputs = await answered(answeredTensors(answer), request.outputs, { signature: signature.spec, call });
    return { model: answer.model, version: answer.version, id: request.id, outputs, metadata: answer.metadata };
  } finally {
    lease.release();
  }
}

/** A request that fits its model. */
interface CheckedKserveRequest extends RecordedRequest {
  readonly scheduling: Scheduling;
}

/** Checks a request against its model; throws {@link ServingError} with Triton's texts. */
export function toCheckedRequest(request: KserveRequest, description: ServableDescription): CheckedKserveRequest {
  const scheduling = readScheduling(request.parameters);
  const { model } = description;
  const inputs = toRecord(request, model);
  const wanted = request.outputs.map(({ name }) => name);
  for (const { name, parameters } of request.outputs) refuseSharedMemory(parameters, `output '${name}'`);
  const signature = requireSignature(scheduling.signature, description);
  const { spec } = signature;
  if (spec !== undefined) checkRequest({ model, id: request.id, inputs, outputs: wanted }, spec);
  return { signature, inputs, outputs: wanted.length > 0 ? wanted : undefined, scheduling };
}

function toRecord({ inputs }: KserveRequest, model: string): Tensors {
  const record = createTensors();
  for (const [name, tensor] of inputs) {
    if (record[name] !== undefined) {
      throw new ServingError("invalid_argument", `input '${name}' already exists in request for model '${model}'`);
    }
    record[name] = tensor;
  }
  return record;
}

/** The call with the request's own parameters; the same object where there are none. */
function withScheduling(call: CallOptions, id: string, { priority, queueTimeoutMs }: Scheduling): CallOptions {
  if (id === "" && priority === undefined && queueTimeoutMs === undefined) return call;
  return { ...call, id: id || call.id, priority, queueTimeoutMs };
}

/** In the client's order, else the signature's, else that of the answer. */
async function answered(
  tensors: Tensors,
  requested: readonly RequestedOutput[],
  { signature, call }: Answering,
): Promise<AnsweredOutput[]> {
  if (requested.length === 0) {
    const order = signature?.outputs?.map(({ name }) => name) ?? [];
    const names = Object.keys(tensors).toSorted((a, b) => order.indexOf(a) - order.indexOf(b));
    return names.map((name) => toOutput(name, tensors[name] as Tensor));
  }
  const outputs: AnsweredOutput[] = [];
  for (const { name, parameters } of requested) {
    const count = readUnsigned(parameters, "classification") ?? 0;
    const labels = signature?.outputs?.find((spec) => spec.name === name)?.labels;
    const tensor = tensors[name] ?? missing(name);
    const transfer = requested.length === 1 && call.memory?.isWireOnly === true ? "owned" : undefined;
    const value = count === 0 ? tensor : await classified(tensor, { name, count, labels }, { ...call, transfer });
    outputs.push(toOutput(name, value));
  }
  return outputs;
}

interface Answering {
  readonly signature: Signature | undefined;
  readonly call: CallOptions;
}

/** Memory for the texts of one output's classes: half of the default for all requests together. */
const MAX_CLASS_BYTES = 256 * 1024 * 1024;

async function classified(tensor: Tensor, output: ClassifiedOutput, options: JobOptions): Promise<Tensor> {
  if (elementCount(tensor.shape) <= MANY_ELEMENTS) return classify(tensor, output, MAX_CLASS_BYTES);
  const { transfer, signal, memory } = options;
  const scratchBytes = Math.min(elementCount(tensor.shape) * CLASS_BYTES, MAX_CLASS_BYTES);
  return codecs.run(classifyJob, [tensor, output, MAX_CLASS_BYTES], { transfer, signal, memory, scratchBytes });
}

function missing(name: string): never {
  throw new ServingError("internal", `The pipeline did not return the output '${name}'.`);
}

function toOutput(name: string, tensor: Tensor): AnsweredOutput {
  const datatype = datatypeOf(tensor.dtype)?.name;
  if (datatype !== undefined) return { name, datatype, tensor };
  throw new ServingError(
    "failed_precondition",
    `output '${name}' is ${tensor.dtype}, which KServe V2 cannot carry; ask for other outputs, or use the TensorFlow Serving API`,
  );
}
