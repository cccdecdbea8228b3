import { type FramedMessage, frameParts } from "../../grpc/framed-message.ts";
import type { Nesting } from "../../grpc/payload-start.ts";
import { defineJob } from "../../platform/codec-host/job.ts";
import { isLargeBytes, LARGE_MESSAGE_BYTES, MANY_ELEMENTS } from "../../platform/codec-host/large-message.ts";
import { DecodeBudget, decodeQuickly, ELEMENT_BYTES } from "../../platform/limits/memory/decode-budget.ts";
import { isQuickToRead, type ValuePlaces } from "../../tensor/codecs/protobuf/quick-look.ts";
import { bytesTag, MAP_ENTRY, WireReader } from "../../tensor/codecs/protobuf/wire-reader.ts";
import {
  bytesField,
  encodeMessage,
  messageField,
  textElement,
  type WirePart,
} from "../../tensor/codecs/protobuf/wire-writer.ts";
import { elementCount, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import { isSameSpec, type ModelSpec, modelSpecParts, NO_MODEL_SPEC, readModelSpec } from "./model-spec.ts";
import { TensorMap, tensorFields } from "./tensor-map.ts";
import { typeOfDType } from "./tensor-proto.ts";
import { VIEWED_FIELDS } from "./tensor-proto-fields.ts";
import type { TensorEncoding } from "./tensor-proto-writer.ts";

/** Field numbers of tensorflow.serving.PredictRequest and PredictResponse. */
const REQUEST = { modelSpec: 1, inputs: 2, outputFilter: 3 } as const;
const RESPONSE = { outputs: 1, modelSpec: 2 } as const;

/** The way to the values of a PredictRequest: an entry of `inputs`, its value. */
export const PREDICT_NESTING: Nesting = [REQUEST.inputs, MAP_ENTRY.value];

/** Places of the values of a PredictRequest, and of a PredictResponse, that may be viewed. */
export const REQUEST_PLACES: ValuePlaces = { nesting: PREDICT_NESTING, viewedFields: VIEWED_FIELDS };
const RESPONSE_PLACES: ValuePlaces = { nesting: [RESPONSE.outputs, MAP_ENTRY.value], viewedFields: VIEWED_FIELDS };

/** A tensorflow.serving.PredictRequest. */
export interface PredictRequest {
  readonly spec: ModelSpec;
  readonly inputs: Tensors;
  /** Empty = all outputs. */
  readonly outputFilter: readonly string[];
}

/** A tensorflow.serving.PredictResponse. */
export interface PredictResponse {
  readonly spec: ModelSpec;
  readonly outputs: Tensors;
}

/**
 * Reads a PredictRequest; its tensors may view `bytes`. `maxBytes` bounds what they take beyond it.
 * Throws `invalid_argument`, and nothing else, whatever the bytes are.
 */
export function decodePredictRequest(bytes: Uint8Array, maxBytes: number): PredictRequest {
  return readRequest(bytes, new DecodeBudget(maxBytes));
}

/** {@link decodePredictRequest} for a codec thread. */
export const decodePredictRequestJob = defineJob(import.meta.url, "decodePredictRequestJob", decodePredictRequest);

/** {@link decodePredictRequest} for the main thread; undefined if that would take long. */
export function decodePredictRequestQuickly(bytes: Uint8Array, maxBytes: number): PredictRequest | undefined {
  if (bytes.length > LARGE_MESSAGE_BYTES && !isQuickToRead(bytes, REQUEST_PLACES)) return undefined;
  return decodeQuickly(maxBytes, (budget) => readRequest(bytes, budget));
}

function readRequest(bytes: Uint8Array, budget: DecodeBudget): PredictRequest {
  const reader = new WireReader(bytes, "PredictRequest");
  const inputs = new TensorMap(budget);
  const outputFilter: string[] = [];
  let spec = NO_MODEL_SPEC;
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === bytesTag(REQUEST.modelSpec)) spec = readModelSpec(reader.nested("ModelSpec"), spec);
    else if (tag === bytesTag(REQUEST.inputs)) readInput(reader, inputs, budget);
    else if (tag === bytesTag(REQUEST.outputFilter)) outputFilter.push(readName(reader, budget));
    else reader.skip(tag);
  }
  return { spec, inputs: inputs.tensors(), outputFilter };
}

function readInput(reader: WireReader, inputs: TensorMap, budget: DecodeBudget): void {
  budget.countInputs(1);
  inputs.read(reader.nested("PredictRequest.inputs"));
}

function readName(reader: WireReader, budget: DecodeBudget): string {
  budget.countOutputs(1);
  budget.spend(ELEMENT_BYTES, () => "one more output_filter");
  return reader.text();
}

/** Reads a PredictResponse, likewise. */
export function decodePredictResponse(bytes: Uint8Array, maxBytes: number): PredictResponse {
  return readResponse(bytes, new DecodeBudget(maxBytes));
}

/** {@link decodePredictResponse} for a codec thread. */
export const decodePredictResponseJob = defineJob(import.meta.url, "decodePredictResponseJob", decodePredictResponse);

/** {@link decodePredictResponse} for the main thread; undefined if that would take long. */
export function decodePredictResponseQuickly(bytes: Uint8Array, maxBytes: number): PredictResponse | undefined {
  if (bytes.length > LARGE_MESSAGE_BYTES && !isQuickToRead(bytes, RESPONSE_PLACES)) return undefined;
  return decodeQuickly(maxBytes, (budget) => readResponse(bytes, budget));
}

function readResponse(bytes: Uint8Array, budget: DecodeBudget): PredictResponse {
  const reader = new WireReader(bytes, "PredictResponse");
  const outputs = new TensorMap(budget);
  let spec = NO_MODEL_SPEC;
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === bytesTag(RESPONSE.modelSpec)) spec = readModelSpec(reader.nested("ModelSpec"), spec);
    else if (tag === bytesTag(RESPONSE.outputs)) outputs.read(reader.nested("PredictResponse.outputs"));
    else reader.skip(tag);
  }
  return { spec, outputs: outputs.tensors() };
}

/** Writes a PredictRequest; one that chooses nothing goes without a model_spec, as the original's clients send it. */
export function encodePredictRequest(request: PredictRequest, encoding: TensorEncoding): Buffer {
  const { spec, inputs, outputFilter } = request;
  return encodeMessage([
    ...(choosesNothing(spec) ? [] : [messageField(REQUEST.modelSpec, modelSpecParts(spec))]),
    ...tensorFields(REQUEST.inputs, inputs, encoding),
    ...outputFilter.map((name) => textElement(REQUEST.outputFilter, name)),
  ]);
}

/** {@link encodePredictRequest} for a codec thread. */
export const encodePredictRequestJob = defineJob(import.meta.url, "encodePredictRequestJob", encodePredictRequest);

/** The fields of a PredictResponse. */
export function predictResponseParts({ spec, outputs }: PredictResponse, encoding: TensorEncoding): WirePart[] {
  const parts = tensorFields(RESPONSE.outputs, outputs, encoding);
  parts.push(bytesField(RESPONSE.modelSpec, encodeSpec(spec)));
  return parts;
}

/** Writes a PredictResponse. */
export function encodePredictResponse(response: PredictResponse, encoding: TensorEncoding): Buffer {
  return encodeMessage(predictResponseParts(response, encoding));
}

/** A PredictResponse in its wire form; with `borrows`, large values are not copied. */
export function framePredictResponse(
  response: PredictResponse,
  encoding: TensorEncoding,
  borrows: boolean,
): FramedMessage {
  return frameParts(predictResponseParts(response, encoding), borrows);
}

/** {@link framePredictResponse} for a codec thread. */
export const framePredictResponseJob = defineJob(import.meta.url, "framePredictResponseJob", framePredictResponse);

/** Checks if writing a response is work for a codec thread: many texts, or integers that become varints. */
export function isLargeResponse({ outputs }: Pick<PredictResponse, "outputs">, encoding: TensorEncoding): boolean {
  for (const name in outputs) {
    const tensor = outputs[name]!;
    if (isLargeBytes(tensor)) return true;
    if (elementCount(tensor.shape) > MANY_ELEMENTS && isVarints(tensor, encoding)) return true;
  }
  return false;
}

function isVarints({ dtype }: Tensor, encoding: TensorEncoding): boolean {
  return encoding === "typed" && typeOfDType(dtype).encoding === "varint";
}

/** The spec that was written last: most answers have the one before. */
let lastSpec: { readonly spec: ModelSpec; readonly bytes: Buffer } | undefined;

function encodeSpec(spec: ModelSpec): Buffer {
  if (lastSpec === undefined || !isSameSpec(lastSpec.spec, spec)) {
    lastSpec = { spec, bytes: encodeMessage(modelSpecParts(spec)) };
  }
  return lastSpec.bytes;
}

function choosesNothing({ model, signature, version, label }: ModelSpec): boolean {
  return model === "" && signature === "" && version === undefined && label === undefined;
}
