import { invalidArgument } from "../../errors.ts";
import type { Nesting } from "../../grpc/payload-start.ts";
import { defineJob } from "../../platform/codec-host/job.ts";
import { LARGE_MESSAGE_BYTES } from "../../platform/codec-host/large-message.ts";
import { DecodeBudget, decodeQuickly, ELEMENT_BYTES, MAX_INPUTS } from "../../platform/limits/memory/decode-budget.ts";
import type { MemoryPlace } from "../../platform/shared-memory/shared-memory.ts";
import { isQuickToRead, type ValuePlaces } from "../../tensor/codecs/protobuf/quick-look.ts";
import { bytesTag, tagOf, WIRE, WireReader } from "../../tensor/codecs/protobuf/wire-reader.ts";
import { MAX_RANK, type Tensor } from "../../tensor/tensor.ts";
import { KserveContents, VIEWED_CONTENTS } from "./grpc-contents.ts";
import { checkParameters, readParameter } from "./grpc-parameters.ts";
import type { KserveRequest, RequestedOutput, SharedInput } from "./kserve-request.ts";
import { EMPTY_FINAL, NO_PARAMETERS, type Parameter, type Parameters, readBoolean } from "./parameters.ts";
import { fromRaw, type InputContext, type InputHead } from "./raw-tensor.ts";
import { readPlace } from "./shared-memory-places.ts";

/** Field numbers of inference.ModelInferRequest and its tensors. */
const REQUEST = { model: 1, version: 2, id: 3, parameters: 4, inputs: 5, outputs: 6, raw: 7 } as const;
const INPUT = { name: 1, datatype: 2, shape: 3, parameters: 4, contents: 5 } as const;
const OUTPUT = { name: 1, parameters: 2 } as const;

/**
 * The paths to the values of a ModelInferRequest: raw ones are at the top level, typed ones in `contents` of an input.
 */
export const INFER_NESTING: Nesting = [REQUEST.inputs, INPUT.contents];

/** Places of a ModelInferRequest's values that may be viewed. */
const REQUEST_PLACES: ValuePlaces = { nesting: INFER_NESTING, viewedFields: VIEWED_CONTENTS, rawField: REQUEST.raw };

/**
 * Place of an answer's values: `raw` = raw_output_contents, `typed` = the typed fields, if every output has one.
 * `both` is for clients that send typed fields: they read either, as KServe's, MLServer's and OpenVINO's servers answer
 * typed requests in typed fields, and Triton in raw_output_contents alone.
 */
export type KserveEncoding = "raw" | "typed" | "both";

/** The form of an answer over gRPC. */
export interface GrpcForm {
  readonly encoding: KserveEncoding;
  /** True if the end of an answer in parts gets a message of its own in a stream. */
  readonly tellsEnd: boolean;
}

/**
 * Reads a ModelInferRequest; its tensors may view `bytes`. `maxBytes` bounds what they take beyond it.
 * Throws `invalid_argument`, and nothing else, whatever the bytes are.
 */
export function decodeInferRequest(bytes: Uint8Array, maxBytes: number): KserveRequest<GrpcForm> {
  return readRequest(bytes, new DecodeBudget(maxBytes));
}

/** {@link decodeInferRequest} for a codec thread. */
export const decodeInferRequestJob = defineJob(import.meta.url, "decodeInferRequestJob", decodeInferRequest);

/** {@link decodeInferRequest} for the main thread; undefined if that would take long. */
export function decodeInferRequestQuickly(bytes: Uint8Array, maxBytes: number): KserveRequest<GrpcForm> | undefined {
  if (bytes.length > LARGE_MESSAGE_BYTES && !isQuickToRead(bytes, REQUEST_PLACES)) return undefined;
  return decodeQuickly(maxBytes, (budget) => readRequest(bytes, budget));
}

/** Values are interpreted after the last field, as fields come in any order. */
function readRequest(bytes: Uint8Array, budget: DecodeBudget): KserveRequest<GrpcForm> {
  const reader = new WireReader(bytes, "ModelInferRequest");
  let [model, version, id] = ["", "", ""];
  const parameters = new Map<string, Parameter>();
  const inputs: InputFields[] = [];
  const outputs: RequestedOutput[] = [];
  const raw: Uint8Array[] = [];
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === bytesTag(REQUEST.model)) model = reader.text();
    else if (tag === bytesTag(REQUEST.version)) version = reader.text();
    else if (tag === bytesTag(REQUEST.id)) id = reader.text();
    else if (tag === bytesTag(REQUEST.parameters)) readParameter(reader, parameters, budget);
    else if (tag === bytesTag(REQUEST.inputs)) inputs.push(readInput(reader, budget));
    else if (tag === bytesTag(REQUEST.outputs)) outputs.push(readOutput(reader, budget));
    else if (tag === bytesTag(REQUEST.raw)) raw.push(readRaw(reader, raw.length, budget));
    else reader.skip(tag);
  }
  checkParameters(parameters);
  const isTyped = raw.length === 0;
  const isShared = inputs.some(({ place }) => place !== undefined);
  const tensors = isShared ? inputs.filter(({ place }) => place === undefined) : inputs;
  return {
    model,
    version,
    id,
    // An empty table of its own would take a quarter of a kilobyte for as long as an answer in parts.
    parameters: parameters.size === 0 ? NO_PARAMETERS : parameters,
    inputs: isTyped ? typedInputs(tensors, model) : rawInputs(tensors, raw, { model, id, budget }),
    shared: isShared ? sharedInputs(inputs, model) : undefined,
    outputs,
    form: {
      encoding: isTyped && !isShared ? typedEncoding(parameters) : "raw",
      tellsEnd: parameters.get(EMPTY_FINAL) === true,
    },
  };
}

function typedEncoding(parameters: Parameters): KserveEncoding {
  const isTyped = readBoolean(parameters, "typed_outputs");
  if (isTyped === undefined) return "both";
  return isTyped ? "typed" : "raw";
}

/** One input before its values are interpreted. */
export interface InputFields {
  readonly head: InputHead;
  readonly contents: KserveContents;
  /** Place of its values in shared memory; undefined = they are in the message. */
  readonly place: MemoryPlace | undefined;
}

/** Memory of one input or output while it is read, so that a message of empty ones cannot fill the memory. */
const TENSOR_BYTES = 512;

/** Reads an InferInputTensor, or an InferOutputTensor, whose fields are the same. */
export function readInput(request: WireReader, budget: DecodeBudget): InputFields {
  budget.countInputs(1);
  budget.spend(TENSOR_BYTES, () => "one more input");
  const reader = request.nested("InferInputTensor");
  const contents = new KserveContents(budget);
  const shape: number[] = [];
  const parameters = new Map<string, Parameter>();
  let [name, datatype] = ["", ""];
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === bytesTag(INPUT.name)) name = reader.text();
    else if (tag === bytesTag(INPUT.datatype)) datatype = reader.text();
    else if (tag === bytesTag(INPUT.shape)) readSizes(reader, shape);
    else if (tag === tagOf(INPUT.shape, WIRE.varint)) addSize(reader, shape, reader.integer());
    else if (tag === bytesTag(INPUT.contents)) contents.read(reader.nested("InferTensorContents"));
    else if (tag === bytesTag(INPUT.parameters)) readParameter(reader, parameters, budget);
    else reader.skip(tag);
  }
  return { head: { name, datatype, shape }, contents, place: readPlace(parameters, name) };
}

/** Reads packed sizes of a shape. */
export function readSizes(reader: WireReader, shape: number[]): void {
  const sizes = reader.nested("InferInputTensor");
  while (sizes.hasMore()) addSize(sizes, shape, sizes.integer());
}

/** Adds a size to a shape; refuses more than a tensor may have. */
export function addSize(reader: WireReader, shape: number[], size: number): void {
  if (shape.length === MAX_RANK) throw reader.malformed(`a shape has more than ${MAX_RANK} dimensions`);
  shape.push(size);
}

function readOutput(request: WireReader, budget: DecodeBudget): RequestedOutput {
  budget.countOutputs(1);
  budget.spend(TENSOR_BYTES, () => "one more output");
  const reader = request.nested("InferRequestedOutputTensor");
  const parameters = new Map<string, Parameter>();
  let name = "";
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === bytesTag(OUTPUT.name)) name = reader.text();
    else if (tag === bytesTag(OUTPUT.parameters)) readParameter(reader, parameters, budget);
    else reader.skip(tag);
  }
  return { name, parameters };
}

/** `before` is the number of those before it: more than there may be inputs would each cost an object. */
function readRaw(request: WireReader, before: number, budget: DecodeBudget): Uint8Array {
  if (before === MAX_INPUTS)
    throw invalidArgument(`raw_input_contents has more than ${MAX_INPUTS} entries; send one for each input.`);
  budget.spend(ELEMENT_BYTES, () => "one more entry of raw_input_contents");
  return request.bytes();
}

type NamedTensor = readonly [name: string, tensor: Tensor];

function typedInputs(inputs: readonly InputFields[], model: string): NamedTensor[] {
  return inputs.map(({ head, contents }) => [head.name, contents.toTensor(head, model)]);
}

function rawInputs(inputs: readonly InputFields[], raw: readonly Uint8Array[], context: InputContext): NamedTensor[] {
  const { model } = context;
  if (raw.length > inputs.length) {
    throw invalidArgument(
      `raw_input_contents has ${raw.length} entries, but the request has ${inputs.length} inputs for model '${model}'`,
    );
  }
  return inputs.map(({ head, contents }, index) => {
    const values = raw[index];
    if (!contents.isEmpty)
      throw invalidArgument(
        `contents field must not be specified when using raw_input_contents for '${head.name}' for model '${model}'`,
      );
    if (values === undefined)
      throw invalidArgument(`unable to find data for input tensor '${head.name}' for model '${model}' in request.`);
    return [head.name, fromRaw(head, values, context)];
  });
}

function sharedInputs(inputs: readonly InputFields[], model: string): SharedInput[] {
  return inputs.flatMap(({ head, contents, place }) => {
    if (place === undefined) return [];
    if (contents.isEmpty) return { head, place };
    throw invalidArgument(
      `unexpected 'content' provided when using shared memory for input tensor '${head.name}' for model '${model}'`,
    );
  });
}

/** Number of fields that are searched for an id: clients write it among the first. */
const SEARCHED_FIELDS = 64;
/** Size of the longest one that is told, in bytes. */
const MAX_ID_BYTES = 64 * 1024;

/**
 * The id of a ModelInferRequest that was not or cannot be read; empty if none of its first valid fields has it, or it
 * is too long.
 */
export function readRequestId(bytes: Uint8Array): string {
  const reader = new WireReader(bytes, "ModelInferRequest");
  let id = "";
  try {
    for (let rest = SEARCHED_FIELDS; rest > 0 && reader.hasMore(); rest--) {
      const tag = reader.tag();
      if (tag === bytesTag(REQUEST.id)) id = shortText(reader.bytes());
      else reader.skip(tag);
    }
    return id;
  } catch {
    return id;
  }
}

function shortText({ buffer, byteOffset, length }: Uint8Array): string {
  return length > MAX_ID_BYTES ? "" : Buffer.from(buffer, byteOffset, length).toString();
}
