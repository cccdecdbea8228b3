import { LARGE_MESSAGE_BYTES } from "../../codec-host/large-message.ts";
import { HttpError } from "../../proxy/http-errors.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer } from "../../proxy/http-route.ts";
import type { InferenceService, ModelRef } from "../../serving/inference-service.ts";
import { answerExamples } from "../tensorflow-serving/examples/http-examples.ts";
import { answerPredict, type PredictRequest } from "../tensorflow-serving/http-predict.ts";
import { type AcceptedType, acceptedType } from "./accepted-type.ts";
import { answerByHandlers, type HandlerDependencies } from "./answer-by-handlers.ts";
import { answerEncoded, isEncodedType } from "./answer-encoded.ts";
import { arrayAnswer } from "./array-answer.ts";
import { type CustomAttributes, readCustomAttributes } from "./custom-attributes.ts";
import { errorOfLine } from "./error-of-line.ts";
import { type BodyForm, bodyForm, toPredictBody, toPredictBodyJob } from "./predict-body.ts";
import { eachWithoutLineBreaks, withoutLineBreaks, withoutLineBreaksJob } from "./without-line-breaks.ts";

/**
 * Answers `POST /invocations`, whose body is JSON, lines of JSON, CSV, or one image, array or file for a model with one
 * input; the answer is JSON, or the first output as CSV or an array. Where the model has handlers (`inference.ts`),
 * they answer any type. `named` = the model of the URL. Throws 415 for any other type of body, and 406 for one of the
 * answer.
 */
export async function invoke(
  exchange: HttpExchange,
  dependencies: HandlerDependencies,
  named = "",
): Promise<HttpAnswer> {
  const { service } = dependencies;
  const { headers } = exchange.request;
  const attributes = readCustomAttributes(single(headers["x-amzn-sagemaker-custom-attributes"]));
  const ref = toRef(service, named === "" ? attributes : { ...attributes, model: named });
  exchange.record.model = ref.model;
  const handled = await answerByHandlers(exchange, { ref, attributes, named }, dependencies);
  if (handled !== undefined) return handled;
  const mediaType = exchange.mediaType === "" ? "application/json" : exchange.mediaType;
  const form = bodyForm(mediaType);
  if (form === undefined && !isEncodedType(mediaType)) throw new HttpError(415, `Unsupported Media Type: ${mediaType}`);
  const accepted = acceptedType(headers.accept, attributes.method);
  const write = accepted.array && arrayAnswer(accepted.array, accepted.contentType);
  const body = await exchange.readBody();
  if (form === undefined)
    return inForm(await answerEncoded(service, { ref, body, mediaType, write }, exchange), accepted, exchange);
  const { json, places } = await toJson(body, form, exchange);
  try {
    return inForm(
      await answerJson(service, { ref, method: attributes.method, body: json, isCsv: form === "csv", write }, exchange),
      accepted,
      exchange,
    );
  } catch (reason) {
    throw places === undefined ? reason : errorOfLine(reason, places);
  }
}

async function toJson(body: Buffer, form: BodyForm, exchange: HttpExchange) {
  const { maxMessageBytes } = exchange;
  const { json, places } =
    body.length > LARGE_MESSAGE_BYTES
      ? await exchange.decode(toPredictBodyJob, [body, form, maxMessageBytes], body)
      : toPredictBody(body, form, maxMessageBytes);
  return { json: Buffer.from(json.buffer, json.byteOffset, json.byteLength), places };
}

function answerJson(
  service: InferenceService,
  { method, ...request }: PredictRequest & Pick<CustomAttributes, "method">,
  exchange: HttpExchange,
): Promise<HttpAnswer> {
  return method === "predict"
    ? answerPredict(service, request, exchange)
    : answerExamples(service, { ...request, method }, exchange);
}

/** Without a name the first of several models is asked, as in the container. */
function toRef(service: InferenceService, { model, version }: CustomAttributes): ModelRef {
  const name = model === "" ? (service.index()[0]?.model ?? "") : model;
  return version === undefined ? { model: name } : { model: name, version };
}

async function inForm(
  answer: HttpAnswer,
  { contentType, isNamed, array }: AcceptedType,
  exchange: HttpExchange,
): Promise<HttpAnswer> {
  if (!isNamed || array !== undefined) return answer;
  const { body, stream } = answer;
  const isLarge = body.length > LARGE_MESSAGE_BYTES;
  const line = isLarge ? await exchange.encode(withoutLineBreaksJob, [body]) : withoutLineBreaks(body);
  const rest = stream && { ...stream, parts: eachWithoutLineBreaks(stream.parts) };
  return { ...answer, contentType, body: line, stream: rest };
}

function single(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(",") : header;
}
