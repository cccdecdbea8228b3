import type { ErrorCode } from "../../errors.ts";
import { type FramedMessage, frameParts } from "../../grpc/framed-message.ts";
import { defineJob } from "../../platform/codec-host/job.ts";
import { isLargeBytes, MANY_ELEMENTS } from "../../platform/codec-host/large-message.ts";
import { varintsField } from "../../tensor/codecs/protobuf/packed-fields.ts";
import {
  bytesField,
  encodeMessage,
  messageField,
  piecesField,
  textField,
  type WirePart,
} from "../../tensor/codecs/protobuf/wire-writer.ts";
import { elementCount, type Tensor } from "../../tensor/tensor.ts";
import { contentsParts } from "./grpc-contents.ts";
import { booleanParameter, textParameter } from "./grpc-parameters.ts";
import type { GrpcForm, KserveEncoding } from "./grpc-request.ts";
import { type AnsweredOutput, type KserveAnswer, sentTensors } from "./kserve-answer.ts";
import { ERROR_CODE } from "./parameters.ts";
import { isLargeRaw, toRaw, toRawPieces } from "./raw-tensor.ts";

/** Field numbers of inference.ModelInferResponse, its tensors, and inference.ModelStreamInferResponse. */
const RESPONSE = { model: 1, version: 2, id: 3, parameters: 4, outputs: 5, raw: 6 } as const;
const OUTPUT = { name: 1, datatype: 2, shape: 3, parameters: 4, contents: 5 } as const;
const STREAM = { error: 1, response: 2 } as const;

/**
 * Frames a ModelStreamInferResponse with an answer, or a part of one; `isFinal` = nothing follows to its request. With
 * `borrows`, large values are not copied.
 */
export function frameStreamResponse(
  answer: KserveAnswer,
  { encoding }: GrpcForm,
  { isFinal, borrows }: { readonly isFinal: boolean; readonly borrows: boolean },
): FramedMessage {
  const parts = inferResponseParts(answer, encoding);
  parts.push(isFinal ? FINAL : NOT_FINAL);
  return frameParts([messageField(STREAM.response, parts)], borrows);
}

/** The parameter by which clients of decoupled models recognise the last answer; Triton sends it with all of them. */
const [FINAL, NOT_FINAL] = [finalField(true), finalField(false)];

function finalField(isFinal: boolean): WirePart {
  return messageField(RESPONSE.parameters, booleanParameter("triton_final_response", isFinal));
}

/** An error in a stream. */
interface StreamError {
  readonly message: string;
  /** Of the failed request; empty = it has none. */
  readonly id: string;
  /** The version of a model that has failed; absent = the request did not come to one. */
  readonly failed?: Pick<KserveAnswer, "model" | "version"> | undefined;
  /** For clients that ask for it; absent = it is not told. */
  readonly code?: ErrorCode | undefined;
}

/** Writes a ModelStreamInferResponse with an error, and with a response, which Triton's clients find in each. */
export function encodeStreamError({ message, id, failed, code }: StreamError): Buffer {
  const error = textField(STREAM.error, message);
  const facts: WirePart[] = id === "" ? [] : [textField(RESPONSE.id, id)];
  if (failed !== undefined) {
    const { model, version } = failed;
    facts.push(textField(RESPONSE.model, model), textField(RESPONSE.version, String(version)), FINAL);
  }
  if (code !== undefined) facts.push(messageField(RESPONSE.parameters, textParameter(ERROR_CODE, code)));
  return encodeMessage([error, messageField(STREAM.response, facts)]);
}

/** A ModelInferResponse in its wire form; with `borrows`, large values are not copied. */
export function frameInferResponse(answer: KserveAnswer, encoding: KserveEncoding, borrows: boolean): FramedMessage {
  return frameParts(inferResponseParts(answer, encoding), borrows);
}

/** {@link frameInferResponse} for a codec thread. */
export const frameInferResponseJob = defineJob(import.meta.url, "frameInferResponseJob", frameInferResponse);

/** {@link frameStreamResponse} for a codec thread. */
export const frameStreamResponseJob = defineJob(import.meta.url, "frameStreamResponseJob", frameStreamResponse);

/** Checks if writing a response is work for a codec thread: many texts, or integers that become varints. */
export function isLargeResponse(answer: KserveAnswer, encoding: KserveEncoding): boolean {
  const tensors = sentTensors(answer);
  const isVarints = ({ dtype }: Tensor) => encoding !== "raw" && !dtype.startsWith("float");
  return (
    tensors.some((tensor) => isLargeBytes(tensor) && (encoding !== "raw" || isLargeRaw(tensor))) ||
    tensors.some((tensor) => isVarints(tensor) && elementCount(tensor.shape) > MANY_ELEMENTS)
  );
}

/** The fields of a ModelInferResponse. */
export function inferResponseParts(
  { model, version, id, outputs }: KserveAnswer,
  encoding: KserveEncoding,
): WirePart[] {
  const typed = encoding === "raw" ? [] : outputs.map(typedParts);
  // Clients read raw_output_contents by position, or not at all.
  const isRaw = encoding !== "typed" || typed.includes(undefined);
  const isTyped = encoding === "both" || !isRaw;
  const heads = outputs.map(({ name, datatype, shape }, index) => {
    const head = [textField(OUTPUT.name, name), textField(OUTPUT.datatype, datatype), ...shapeParts(shape)];
    const contents = isTyped ? typed[index] : undefined;
    return messageField(RESPONSE.outputs, contents ? [...head, messageField(OUTPUT.contents, contents)] : head);
  });
  const values = isRaw ? outputs.map(({ tensor }) => rawField(tensor)) : [];
  return [
    textField(RESPONSE.model, model),
    textField(RESPONSE.version, String(version)),
    textField(RESPONSE.id, id),
    ...heads,
    ...values,
  ];
}

function typedParts({ tensor, datatype }: AnsweredOutput): WirePart[] | undefined {
  return tensor === undefined ? [] : contentsParts(tensor, datatype);
}

function shapeParts(shape: readonly number[]): WirePart[] {
  if (shape.length === 0) return [];
  return [varintsField(OUTPUT.shape, Int32Array.from(shape))];
}

/** Clients count the entries, so that an output in shared memory has an empty one. */
function rawField(tensor: Tensor | undefined): WirePart {
  if (tensor === undefined) return bytesField(RESPONSE.raw, new Uint8Array(0));
  if (tensor.dtype !== "bytes") return bytesField(RESPONSE.raw, toRaw(tensor));
  return piecesField(RESPONSE.raw, toRawPieces(tensor));
}
