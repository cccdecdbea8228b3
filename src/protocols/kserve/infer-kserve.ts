import { currentScope } from "../../access/call-scope.ts";
import { failedPrecondition, invalidArgument, ServingError } from "../../errors.ts";
import { isNotOneAnswer } from "../../one-answer.ts";
import { codecs } from "../../platform/codec-host/codec-pool.ts";
import { MANY_ELEMENTS } from "../../platform/codec-host/large-message.ts";
import { BEFORE_OTHERS } from "../../platform/limits/call-limits.ts";
import type { ProtocolSettings } from "../../platform/limits/settings/server-settings.ts";
import type { SharedMemory } from "../../platform/shared-memory/shared-memory.ts";
import type { CallOptions, InferenceService, InferResponse, Lease, PartSink } from "../../serving/inference-service.ts";
import type { Signature } from "../../tensor/signature/signature.ts";
import { elementCount, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import { answeredTensors } from "../answered-tensors.ts";
import { toCheckedRequest } from "./check-request.ts";
import { CLASS_BYTES, type ClassifiedOutput, classify, classifyJob } from "./classify.ts";
import { datatypeOf } from "./datatype.ts";
import type { AnsweredOutput, KserveAnswer, KserveParts } from "./kserve-answer.ts";
import type { KserveRequest, RequestedOutput } from "./kserve-request.ts";
import { acquireModel, toModelRef } from "./model-ref.ts";
import { modelParameters, readUnsigned, type Scheduling, toRecord } from "./parameters.ts";
import { namesSharedMemory, readPlace, refuseSharedMemory } from "./shared-memory-places.ts";

/** The call that a request came with, and what its tensors may use. */
export interface InferOptions {
  readonly call: CallOptions;
  /** The most memory for inputs that are not in the message, in bytes. */
  readonly maxBytes: number;
  /** The regions in which tensors may be; absent = there are none. */
  readonly sharedMemory?: SharedMemory | undefined;
  readonly settings: ProtocolSettings;
  /** Takes the parts of an answer in parts; absent = the transport takes one answer. */
  readonly parts?: KserveParts | undefined;
  /** Text for a model whose parts are not one answer; absent = the server's own. */
  readonly refusal?: string;
}

/**
 * Runs one request: resolves the model, checks, infers, filters, classifies. Throws, or rejects with, a
 * {@link ServingError} with Triton's texts.
 */
export function inferKserve(
  service: InferenceService,
  request: KserveRequest,
  options: InferOptions,
): Promise<KserveAnswer> {
  const { call } = options;
  noteRequest(request, call);
  const ref = toModelRef(request.model, request.version);
  const lease = acquireModel(service, ref, call);
  return lease instanceof Promise
    ? lease.then((own) => inferLeased(own, request, options))
    : inferLeased(lease, request, options);
}

/** Records the request's id and model name for the log. */
function noteRequest({ model, id }: KserveRequest, { record }: CallOptions): void {
  if (record === undefined) return;
  record.model = model;
  if (id !== "") record.id = id;
}

/** Runs a request as {@link inferKserve} does, on a leased model, and releases the lease. */
export async function inferLeased(lease: Lease, request: KserveRequest, options: InferOptions): Promise<KserveAnswer> {
  try {
    const run = namesSharedMemory(request) ? inferShared : infer;
    return await run(lease, request, options);
  } catch (reason) {
    throw options.refusal !== undefined && isNotOneAnswer(reason) ? refuse(reason, options.refusal) : reason;
  } finally {
    lease.release();
  }
}

/** With Triton's text first, on which its clients assert. */
function refuse({ code, message, details }: ServingError, text: string): ServingError {
  return new ServingError(code, `${text}. ${message}`, { details });
}

async function inferShared(lease: Lease, request: KserveRequest, options: InferOptions): Promise<KserveAnswer> {
  const { sharedMemory } = options;
  if (sharedMemory === undefined) throw refuseSharedMemory(request);
  // Nearly no server needs the code.
  const { SharedTensors } = await import("./shared-tensors.ts");
  const shared = new SharedTensors(request, sharedMemory, options);
  try {
    const inputs = [...request.inputs, ...(await shared.readInputs())];
    return await shared.writeOutputs(await infer(lease, { ...request, inputs }, options));
  } finally {
    shared.release();
  }
}

/** Not async: it would hold all of its values for as long as an answer in parts takes. */
function infer(lease: Lease, request: KserveRequest, { call, settings, parts }: InferOptions): Promise<KserveAnswer> {
  const { model, decoupled = false } = lease.description;
  const checked = toCheckedRequest(request, lease.description, settings);
  const { signature, inputs, outputs: wanted, scheduling } = checked;
  const asked = { request, wanted, signature: signature.spec, call };
  const inferred = lease.infer({
    signature,
    inputs: { kind: "tensors", tensors: inputs },
    outputs: wanted,
    parts: parts && new FormedParts(parts, asked, decoupled),
    call: withParameters(call, request, { model, ...scheduling }),
  });
  return inferred.then((answer) => toAnswer(answer, asked));
}

/** Each part would overwrite the one before, whether or not the client has read it. */
function refuseSharedParts({ outputs }: KserveRequest): void {
  const shared = outputs.find(({ name, parameters }) => readPlace(parameters, name) !== undefined);
  if (shared === undefined) return;
  throw invalidArgument(
    `output '${shared.name}' of a model that answers in parts cannot be in shared memory; leave it in the messages`,
  );
}

/** The wishes of a client, by which an answer and each part of it gets its form. */
interface Asked {
  readonly request: KserveRequest;
  /** Names of the wanted outputs; undefined = all. */
  readonly wanted: readonly string[] | undefined;
  readonly signature: Signature | undefined;
  readonly call: CallOptions;
}

/** Gives each part the form that its client has asked for. */
class FormedParts implements PartSink {
  readonly #parts: KserveParts;
  readonly #asked: Asked;
  #hasBegun = false;

  /** `isDecoupled` is false also for a model that another version answers for, which may answer in parts. */
  constructor(parts: KserveParts, asked: Asked, isDecoupled: boolean) {
    this.#parts = parts;
    this.#asked = asked;
    if (isDecoupled) this.#begin();
  }

  async write(part: InferResponse): Promise<void> {
    this.#begin();
    await this.#parts.write(await toAnswer(part, this.#asked));
  }

  #begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    refuseSharedParts(this.#asked.request);
    this.#parts.begin?.();
  }
}

/** A promise only for outputs that were asked for. */
function toAnswer(
  answer: InferResponse,
  { request, wanted, signature, call }: Asked,
): KserveAnswer | Promise<KserveAnswer> {
  const { model, version, metadata, parts } = answer;
  const { id } = request;
  if (parts !== undefined) return { model, version, id, outputs: [], metadata, parts };
  const tensors = answeredTensors(answer);
  if (wanted === undefined) return { model, version, id, outputs: allOutputs(tensors, signature), metadata };
  const requested = requestedOutputs(tensors, toRequested(request, wanted), { signature, call });
  return requested.then((outputs) => ({ model, version, id, outputs, metadata }));
}

function toRequested({ outputs }: KserveRequest, wanted: readonly string[]): readonly RequestedOutput[] {
  return outputs.length === wanted.length ? outputs : outputs.filter(({ name }) => wanted.includes(name));
}

/** The call with the request's own id and parameters; the same object if there are none. */
function withParameters(
  call: CallOptions,
  { id, parameters: all, modelParameters: given }: KserveRequest,
  { model, priority, queueTimeoutMs }: Scheduling & { readonly model: string },
): CallOptions {
  const isScheduled = priority !== undefined || queueTimeoutMs !== undefined;
  const parameters = given === undefined ? modelParameters(all) : toRecord(given);
  if (id === "" && !isScheduled && parameters === undefined) return call;
  const own = { ...call, parameters, id: id || call.id };
  if (!isScheduled) return own;
  const goesFirst = (priority ?? 0) > 0 && currentScope()?.mayGoFirst(model) === true;
  const client = goesFirst ? BEFORE_OTHERS : call.limits?.client;
  return { ...own, limits: { ...call.limits, priority, client, queueTimeoutMs } };
}

/** In the signature's order, else that of the model's answer. */
function allOutputs(tensors: Tensors, signature: Signature | undefined): AnsweredOutput[] {
  const names = Object.keys(tensors);
  if (names.length > 1) {
    const order = signature?.outputs?.map(({ name }) => name) ?? [];
    names.sort((a, b) => order.indexOf(a) - order.indexOf(b));
  }
  return names.map((name) => toOutput(name, tensors[name] as Tensor));
}

/** In the client's order, classified if it asked for that. */
async function requestedOutputs(
  tensors: Tensors,
  requested: readonly RequestedOutput[],
  { signature, call }: { readonly signature: Signature | undefined; readonly call: CallOptions },
): Promise<AnsweredOutput[]> {
  const outputs: AnsweredOutput[] = [];
  for (const { name, parameters } of requested) {
    const tensor = tensors[name];
    if (tensor === undefined) throw new ServingError("internal", `The pipeline did not return the output '${name}'.`);
    const count = readUnsigned(parameters, "classification") ?? 0;
    const labels = signature?.outputs?.find((spec) => spec.name === name)?.labels;
    const options = { call, isOnly: requested.length === 1 };
    outputs.push(toOutput(name, count === 0 ? tensor : await classifyOutput(tensor, { name, count, labels }, options)));
  }
  return outputs;
}

function toOutput(name: string, tensor: Tensor): AnsweredOutput {
  const { dtype, shape } = tensor;
  const datatype = datatypeOf(dtype)?.name;
  if (datatype !== undefined) return { name, datatype, shape, tensor };
  throw failedPrecondition(
    `output '${name}' is ${dtype}, which KServe V2 cannot carry; ask for other outputs, or use the TensorFlow Serving API`,
  );
}

/** Memory for the texts of one output's classes: half of the default for all requests together. */
const MAX_CLASS_BYTES = 256 * 1024 * 1024;

/** {@link classify}, in a codec thread if that takes long. `isOnly`: no other output is answered. */
function classifyOutput(
  tensor: Tensor,
  output: ClassifiedOutput,
  { call: { signal, memory }, isOnly }: { readonly call: CallOptions; readonly isOnly: boolean },
): Tensor | Promise<Tensor> {
  const elements = elementCount(tensor.shape);
  if (elements <= MANY_ELEMENTS) return classify(tensor, output, MAX_CLASS_BYTES);
  const transfer = isOnly && memory?.isWireOnly === true ? "owned" : undefined;
  const scratchBytes = Math.min(elements * CLASS_BYTES, MAX_CLASS_BYTES);
  return codecs.run(classifyJob, [tensor, output, MAX_CLASS_BYTES], { transfer, signal, memory, scratchBytes });
}
