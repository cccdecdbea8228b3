import { invalidArgument, type ServingError } from "../../errors.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer } from "../../proxy/http-route.ts";
import type { InferResponse } from "../../serving/inference-service.ts";
import type { JsonWriter } from "../../tensor/codecs/json/json-writer.ts";
import type { Signature } from "../../tensor/signature/signature.ts";
import { elementCount } from "../../tensor/tensor.ts";
import { answeredTensors } from "../answered-tensors.ts";
import { textAnswer } from "../text-answer.ts";
import type { KibernetikaRequest } from "./http-codec.ts";
import {
  isLargeOutputs,
  type NamedOutputs,
  withLabels,
  writeOutputs,
  writeOutputsJob,
  writeOutputsTo,
} from "./http-outputs.ts";

const JSON_TYPE = "application/json";
/** TYPE/SUBTYPE with parameters, all of them characters that a header may carry. */
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:\s*;\s*[\w.+-]+=(?:[\w.+-]+|"[ -!#-[\]-~]*"))*$/;
/** Headers of an answer with a type that a hook or a client chose: browsers must not run it. */
const RAW_HEADERS = { "content-security-policy": "sandbox" };

/** Refuses an invalid `out_mime_type`. */
export function checkMimeType(outMimeType: string): void {
  if (outMimeType === "" || MEDIA_TYPE.test(outMimeType)) return;
  throw invalidArgument(`out_mime_type is "${outMimeType}"; expected a media type such as image/png or text/plain.`);
}

/** The answer of a model. */
export interface Answered extends Pick<InferResponse, "outputs" | "metadata" | "contentType"> {
  /** The signature by which it was run, for an answer that names classes: one of all outputs, to plain values. */
  readonly spec?: Signature | undefined;
}
type Wanted = Pick<KibernetikaRequest, "outFilter" | "outMimeType">;

/**
 * The answer to a predict request: a JSON object with a value for each output, or the only output's bytes under the
 * media type that a hook chose, else the client.
 */
export function toKibernetikaAnswer(response: Answered, request: Wanted): HttpAnswer {
  const outputs = wantedOutputs(response, request);
  const { metadata: headers } = response;
  const bytes = onlyBytes(outputs);
  const type = rawType(response, request);
  if (bytes !== undefined && type !== undefined) {
    return { contentType: withCharset(type), body: bytes, headers: { ...headers, ...RAW_HEADERS } };
  }
  if (isRawAsked(request)) throw notRaw(request.outMimeType, outputs);
  return { contentType: JSON_TYPE, body: writeOutputs(outputs), headers };
}

/** {@link toKibernetikaAnswer} for what {@link isLargeAnswer}: codec threads write it. */
export function toLargeAnswer(response: Answered, request: Wanted, exchange: HttpExchange): Promise<HttpAnswer> {
  const { outMimeType } = request;
  if (isRawAsked(request)) throw notRaw(outMimeType, wantedOutputs(response, request));
  return toJsonAnswer(response, request, exchange);
}

/** An answer of any size as JSON, also where the client or a hook chose another media type. */
export async function toJsonAnswer(response: Answered, request: Wanted, exchange: HttpExchange): Promise<HttpAnswer> {
  const outputs = wantedOutputs(response, request);
  const text = {
    tensors: outputs.map(([, tensor]) => tensor),
    job: writeOutputsJob,
    args: [outputs] as const,
    // The classes of a large answer are not looked for in the main thread.
    write: !outputs.some(([, , labels]) => labels) && ((writer: JsonWriter) => writeOutputsTo(writer, outputs)),
    isLarge: isLargeOutputs(outputs),
  };
  return { contentType: JSON_TYPE, ...(await textAnswer(text, exchange)), headers: response.metadata };
}

/** Checks if a codec thread should write an answer; a single value with a media type is sent unchanged. */
export function isLargeAnswer(response: Answered, request: Wanted): boolean {
  const outputs = wantedOutputs(response, request);
  const isRaw = onlyBytes(outputs) !== undefined && rawType(response, request) !== undefined;
  return !isRaw && isLargeOutputs(outputs);
}

/** The media type with which the only output's bytes are sent; undefined = the answer is JSON. */
function rawType({ contentType }: Answered, request: Wanted): string | undefined {
  return contentType ?? (isRawAsked(request) ? request.outMimeType : undefined);
}

function isRawAsked({ outMimeType }: Wanted): boolean {
  return outMimeType !== "" && outMimeType !== JSON_TYPE;
}

/** The requested outputs: a server behind the proxy may answer with more. */
function wantedOutputs(response: Answered, { outFilter }: Wanted): NamedOutputs {
  const outputs = Object.entries(answeredTensors(response));
  if (outFilter.length === 0) return withLabels(outputs, response.spec?.outputs);
  const wanted = new Set(outFilter);
  return outputs.filter(([name]) => wanted.has(name));
}

/** The bytes of an answer with one output of one `bytes` element, of any rank. */
function onlyBytes(outputs: NamedOutputs): Uint8Array | undefined {
  const [first, ...others] = outputs;
  if (first === undefined || others.length > 0) return undefined;
  const [, tensor] = first;
  return tensor.dtype === "bytes" && elementCount(tensor.shape) === 1 ? tensor.data[0] : undefined;
}

function withCharset(type: string): string {
  return type === "text/plain" ? "text/plain; charset=utf-8" : type;
}

function notRaw(type: string, outputs: NamedOutputs): ServingError {
  const came = outputs.map(([name, { dtype, shape }]) => `${name}: ${dtype} [${shape}]`).join(", ");
  return invalidArgument(
    `out_mime_type ${type} needs exactly one output, of dtype bytes and with one element, but there is ` +
      `${came || "none"}; choose one with out_filter, or leave out_mime_type away.`,
  );
}
