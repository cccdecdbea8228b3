import { LARGE_MESSAGE_BYTES } from "../../platform/codec-host/large-message.ts";
import { acceptedParts, answerInParts, EVENTS } from "../../proxy/answer-parts.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer } from "../../proxy/http-route.ts";
import { decodeGenerate, decodeGenerateJob, type GenerateRequest, generateInputs } from "./generate-request.ts";
import type { KserveCall } from "./http-endpoint.ts";
import { type ReceivedInfer, receiveInfer } from "./http-infer.ts";
import { type AnswerForm, isLargeJson, writeGeneratedJob, writeJsonJob } from "./http-response.ts";
import { type InferOptions, inferLeased } from "./infer-kserve.ts";
import type { KserveAnswer } from "./kserve-answer.ts";
import { defaultSignature } from "./model-metadata.ts";
import { acquireModel, toModelRef } from "./model-ref.ts";

/** Triton's text; its status is that of the first part. */
const NOT_ONE =
  "generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses";

/** Answers `POST /v2/models/NAME[/versions/V]/generate`: one answer, also of a model that answers in parts. */
export async function answerGenerate(generate: KserveCall): Promise<HttpAnswer> {
  const received = await receiveGenerate(generate);
  const { lease, request } = received;
  const answer = await inferLeased(lease, request, { ...toOptions(received, generate), refusal: NOT_ONE });
  const body = await write(answer, request, generate.exchange);
  return { contentType: "application/json", body, headers: answer.metadata };
}

/** Answers `POST …/generate_stream`: an event for each part of an answer, or for the only one. */
export async function answerGenerateStream(generate: KserveCall): Promise<HttpAnswer> {
  return stream(await receiveGenerate(generate), generate);
}

/** Answers MLServer's `POST …/infer_stream`: a request of infer, an event for each part of its answer. */
export async function answerInferStream(infer: KserveCall): Promise<HttpAnswer> {
  const { request, ...received } = await receiveInfer(infer);
  return stream({ ...received, request: { ...request, isInfer: true } }, infer);
}

type ReceivedGenerate = ReceivedInfer<GenerateRequest>;

async function receiveGenerate({ service, exchange, model, version }: KserveCall): Promise<ReceivedGenerate> {
  exchange.record.model = model;
  const body = await exchange.readBody();
  const call = exchange.callInfo();
  const lease = await acquireModel(service, toModelRef(model, version), call);
  try {
    const inputs = generateInputs(defaultSignature(lease.description).inputs);
    const options = { model, version, maxBytes: exchange.maxMessageBytes, inputs };
    const isLarge = body.length > LARGE_MESSAGE_BYTES;
    const request = isLarge
      ? await exchange.decode(decodeGenerateJob, [body, options], body)
      : decodeGenerate(body, options);
    if (request.id !== "") exchange.record.id = request.id;
    return { lease, request, call };
  } catch (reason) {
    lease.release();
    throw reason;
  }
}

function toOptions({ call }: ReceivedGenerate, { exchange, sharedMemory, settings }: KserveCall): InferOptions {
  return { call, maxBytes: exchange.maxMessageBytes, sharedMemory, settings };
}

function stream(received: ReceivedGenerate, call: KserveCall): Promise<HttpAnswer> {
  const { exchange } = call;
  const { lease, request } = received;
  return answerInParts(acceptedParts(exchange.request) ?? EVENTS, exchange, async (writePart) => {
    const send = async (part: KserveAnswer) =>
      writePart({ json: await write(part, request, exchange), headers: part.metadata });
    const answer = await inferLeased(lease, request, { ...toOptions(received, call), parts: { write: send } });
    if (answer.parts === undefined) await send(answer);
  });
}

/** The JSON of an answer or a part, in the form of its request. */
function write(answer: KserveAnswer, { form, isInfer }: GenerateRequest, exchange: HttpExchange): Promise<Uint8Array> {
  const text: AnswerForm = { ...form, isBinary: false, outputs: [] };
  const isLarge = isLargeJson(answer, text);
  const job = isInfer ? writeJsonJob : writeGeneratedJob;
  return isLarge ? exchange.encode(job, [answer, text]) : Promise.resolve(job.run(answer, text));
}
