import { ServingError } from "../../errors.ts";
import type { CallOptions, InferenceService, Lease, ServableDescription } from "../../serving/inference-service.ts";
import type { RecordedRequest } from "../../serving/recorded-request.ts";
import { requireSignature } from "../../serving/require-signature.ts";
import type { SharedMemory } from "../../shared-memory/shared-memory.ts";
import { createTensors, type Tensors } from "../../tensor/tensor.ts";
import { answeredTensors } from "../answered-tensors.ts";
import { answerOutputs } from "./answer-outputs.ts";
import { checkRequest } from "./check-request.ts";
import type { KserveAnswer } from "./kserve-answer.ts";
import type { KserveRequest } from "./kserve-request.ts";
import { acquireModel, toModelRef } from "./model-ref.ts";
import { readScheduling, type Scheduling } from "./parameters.ts";
import { namesSharedMemory, refuseSharedMemory } from "./refuse-shared-memory.ts";
import type { SharedTensors } from "./shared-tensors.ts";

/** The call that a request came with, and what its tensors may use. */
export interface InferOptions {
  readonly call: CallOptions;
  /** The most memory for inputs that are not in the message, in bytes. */
  readonly maxBytes: number;
  /** The regions in which tensors may be; absent = there are none. */
  readonly sharedMemory?: SharedMemory | undefined;
}

/** Runs one request: resolves the model, checks, infers, filters, classifies. Throws {@link ServingError} with Triton's texts. */
export async function inferKserve(
  service: InferenceService,
  request: KserveRequest,
  options: InferOptions,
): Promise<KserveAnswer> {
  const { call } = options;
  noteRequest(request, call);
  const ref = toModelRef(request.model, request.version);
  return inferLeased(await acquireModel(service, ref, call), request, options);
}

/** Records the request's id and model name for the log. */
function noteRequest({ model, id }: KserveRequest, { record }: CallOptions): void {
  if (record === undefined) return;
  record.model = model;
  if (id !== "") record.id = id;
}

/** Runs a request as {@link inferKserve} does, on a leased model, and releases the lease. */
export async function inferLeased(lease: Lease, request: KserveRequest, options: InferOptions): Promise<KserveAnswer> {
  const { call } = options;
  let shared: SharedTensors | undefined;
  try {
    if (namesSharedMemory(request)) shared = await openShared(request, options);
    const given = shared === undefined ? request : { ...request, inputs: await allInputs(request, shared) };
    const { signature, inputs, outputs: wanted, scheduling } = toCheckedRequest(given, lease.description);
    const answer = await lease.infer({
      signature,
      inputs: { kind: "tensors", tensors: inputs },
      outputs: wanted,
      call: withScheduling(call, request.id, scheduling),
    });
    const answering = { requested: request.outputs, signature: signature.spec, call, shared };
    const outputs = await answerOutputs(answeredTensors(answer), answering);
    return { model: answer.model, version: answer.version, id: request.id, outputs, metadata: answer.metadata };
  } finally {
    shared?.release();
    lease.release();
  }
}

/** Nearly no server needs the code. */
async function openShared(request: KserveRequest, options: InferOptions): Promise<SharedTensors> {
  const { sharedMemory } = options;
  if (sharedMemory === undefined) throw refuseSharedMemory(request);
  const { SharedTensors } = await import("./shared-tensors.ts");
  return new SharedTensors(request, sharedMemory, options);
}

async function allInputs({ inputs }: KserveRequest, shared: SharedTensors): Promise<KserveRequest["inputs"]> {
  return [...inputs, ...(await shared.readInputs())];
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
