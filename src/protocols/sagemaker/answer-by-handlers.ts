import type { IncomingMessage } from "node:http";
import { ServingError } from "../../errors.ts";
import { logFailure } from "../../observability/log-failure.ts";
import type { Logger } from "../../observability/logger.ts";
import { CopyInTurns } from "../../platform/limits/event-loop-turns.ts";
import { answerRaw } from "../../proxy/answer-raw.ts";
import { toErrorAnswer } from "../../proxy/http-errors.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer } from "../../proxy/http-route.ts";
import { answerBytes } from "../../proxy/send-answer.ts";
import { inferRaw } from "../../serving/infer-raw.ts";
import type { InferenceService, Lease, ModelRef } from "../../serving/inference-service.ts";
import { answerExamples } from "../tensorflow-serving/examples/http-examples.ts";
import { answerPredict } from "../tensorflow-serving/http-predict.ts";
import type { CustomAttributes } from "./custom-attributes.ts";

/** Services for handlers, and what they need to know of the server. */
export interface HandlerDependencies {
  readonly service: InferenceService;
  readonly grpcPort?: number | undefined;
  readonly log: Logger;
}

/** Answers an invocation by the handlers of the model's `inference.ts`; undefined for a model without. */
export async function answerByHandlers(
  exchange: HttpExchange,
  invocation: Invocation,
  dependencies: HandlerDependencies,
): Promise<HttpAnswer | undefined> {
  const { ref, attributes } = invocation;
  if (!(await hasHandlers(dependencies.service, ref))) return undefined;
  const body = await exchange.readBody();
  const call = exchange.callInfo();
  const facts = handlerFacts(exchange.request, invocation, dependencies.grpcPort);
  return answerRaw(exchange, async (write) => {
    const lease = await dependencies.service.acquire(ref, call);
    try {
      if (lease.description.hooks?.entries?.includes("handler"))
        return await inferRaw(lease, { entry: "handler", facts, body, call, write });
      const input = await inferRaw(lease, { entry: "input_handler", facts, body, call });
      const made = await answerOfModel(exchange, { lease, method: attributes.method, body: input.body }, dependencies);
      const given = { facts: { ...facts, status_code: made.status }, body: made.body };
      return await inferRaw(lease, { entry: "output_handler", ...given, call, write });
    } finally {
      lease.release();
    }
  });
}

/** A model that cannot be found is refused later, as for every invocation. */
async function hasHandlers(service: InferenceService, ref: ModelRef): Promise<boolean> {
  try {
    const lease = await service.acquire(ref);
    lease.release();
    return lease.description.hooks?.entries?.some((name) => name === "handler" || name === "input_handler") ?? false;
  } catch {
    return false;
  }
}

interface ModelRequest {
  readonly lease: Lease;
  readonly method: CustomAttributes["method"];
  readonly body: Uint8Array;
}

/** The answer of the model's REST API, an error too, unless the client has left. */
async function answerOfModel(
  exchange: HttpExchange,
  { lease, method, body: bytes }: ModelRequest,
  { service, log }: HandlerDependencies,
): Promise<{ readonly status: number; readonly body: Uint8Array }> {
  const { model, version } = lease.description;
  const ref = { model, version };
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    const answer = await (method === "predict"
      ? answerPredict(service, { ref, body }, exchange)
      : answerExamples(service, { ref, method, body }, exchange));
    return { status: answer.status ?? 200, body: await wholeBody(answer, exchange) };
  } catch (reason) {
    const { code } = ServingError.from(reason);
    if (code === "cancelled" || code === "deadline_exceeded") throw reason;
    logFailure({ reason, code, record: exchange.record, path: exchange.request.url ?? "" }, log);
    return toErrorAnswer(reason);
  }
}

/** All bytes of an answer, counted while they are made and joined. */
async function wholeBody(answer: HttpAnswer, exchange: HttpExchange): Promise<Buffer> {
  const { body, rest = [], stream } = answer;
  const pieces = [body, ...rest];
  let bytes = answerBytes(answer);
  for await (const piece of stream?.parts ?? []) {
    pieces.push(piece);
    bytes += piece.length;
    exchange.holdAnswer(bytes + (stream?.heldBytes ?? 0));
  }
  exchange.holdAnswer(2 * bytes);
  const joined = Buffer.allocUnsafe(bytes);
  const copy = new CopyInTurns(joined);
  for (const piece of pieces) await copy.add(piece);
  exchange.holdAnswer(bytes);
  return joined;
}

const JSON_TYPE = "application/json";

/** An invocation, and the model that it means. */
interface Invocation {
  readonly ref: ModelRef;
  readonly attributes: CustomAttributes;
  /** The model of the URL; empty = it names none. */
  readonly named: string;
}

/** The members of the context that SageMaker's container gives to handlers; null = the request does not say. */
function handlerFacts(
  { headers, socket }: IncomingMessage,
  { ref, attributes, named }: Invocation,
  grpcPort: number | undefined,
): Readonly<Record<string, string | number | null>> {
  const custom = headers["x-amzn-sagemaker-custom-attributes"];
  const version = attributes.version === undefined ? null : String(attributes.version);
  const scheme = "encrypted" in socket ? "https" : "http";
  const place = `/v1/models/${encodeURIComponent(ref.model)}${version === null ? "" : `/versions/${version}`}`;
  return {
    model_name: named || attributes.model || null,
    model_version: version,
    method: attributes.namedMethod ?? null,
    rest_uri: `${scheme}://localhost:${socket.localPort}${place}:${attributes.method}`,
    grpc_port: grpcPort === undefined ? null : String(grpcPort),
    custom_attributes: custom === undefined ? null : String(custom),
    request_content_type: headers["content-type"] || JSON_TYPE,
    accept_header: headers.accept || JSON_TYPE,
    content_length: headers["content-length"] === undefined ? null : Number(headers["content-length"]),
  };
}
