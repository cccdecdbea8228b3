import { ServingError } from "../../errors.ts";
import { logFailure } from "../../observability/log-failure.ts";
import type { Logger } from "../../observability/logger.ts";
import { answerInParts } from "../../proxy/answer-parts.ts";
import { type ErrorForm, HttpError } from "../../proxy/http-errors.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer } from "../../proxy/http-route.ts";
import { EVENTS } from "../../proxy/part-form.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { writeOutputsJob } from "../kibernetika/http-outputs.ts";
import { knowing } from "../text/lease-for.ts";
import {
  answerMessage,
  checkBatch,
  checkMessage,
  isStateless,
  type MessageContext,
  type RoutingHeaders,
  statusOf,
} from "./answer-message.ts";
import type { ToolCall } from "./call-tool.ts";
import { type Message, type Received, RPC, RpcError, readMessages } from "./messages.ts";

const JSON_TYPE = "application/json";

/** Answers `POST /mcp`. */
export async function answerHttp(exchange: HttpExchange, service: InferenceService, log: Logger): Promise<HttpAnswer> {
  const takesEvents = checkTypes(exchange);
  const call = exchange.callInfo();
  const received = await readBody(exchange);
  if (received instanceof RpcError) return refusal(received, null, false);
  const headers = headersOf(exchange);
  const lent = {
    ...{ service, call, headers, maxBytes: exchange.maxMessageBytes },
    known: onceAsked(() => knowing(service, call)),
    write: ((outputs) => exchange.encode(writeOutputsJob, [outputs])) satisfies ToolCall["write"],
    hold: (bytes: number) => exchange.hold(bytes),
    failed: (reason: unknown) => noteFailure(reason, exchange, log),
  };
  if (received.isBatch) return answerBatch(received, lent);
  const [message = {}] = received.messages;
  const context = { ...lent, inputs: inputsOf(received, 0) };
  const isCall = message.method === "tools/call" && message.id !== undefined;
  const token = isCall ? message.progressToken : undefined;
  if (token === undefined || !takesEvents || isRefused(message, headers)) return answerOne(message, context);
  const errorForm: ErrorForm = (failure) => ({
    body: new RpcError(RPC.internalError, failure.message).toBody(message.id ?? null),
  });
  return answerInParts<HttpAnswer & { readonly parts?: number }>({ form: { ...EVENTS, errorForm } }, exchange, {
    run: (write) => {
      const send = (body: Buffer) => write({ contentType: JSON_TYPE, body });
      return answerOne(message, { ...context, progress: { token, send } });
    },
    toPart: async (part) => part,
  });
}

/** Throws for bodies that pages may send anywhere, and for clients that take no JSON; true = events are as welcome. */
function checkTypes({ mediaType, request }: HttpExchange): boolean {
  if (mediaType !== JSON_TYPE) throw new HttpError(415, `Content-Type is "${mediaType}"; expected ${JSON_TYPE}.`);
  const { accept = "*/*" } = request.headers;
  if (!/application\/(?:json|\*)|\*\/\*/i.test(accept))
    throw new HttpError(406, `Accept has no ${JSON_TYPE}; expected ${JSON_TYPE}, text/event-stream.`);
  return /text\/event-stream/i.test(accept);
}

function headersOf({ request: { headers } }: HttpExchange): RoutingHeaders {
  const of = (name: string) => {
    const value = headers[name];
    return typeof value === "string" ? value : undefined;
  };
  return { version: of("mcp-protocol-version"), method: of("mcp-method"), name: of("mcp-name") };
}

async function readBody(exchange: HttpExchange): Promise<Received | RpcError> {
  const body = await exchange.readBody();
  const decode: HttpExchange["decode"] = (...job) => exchange.decode(...job);
  return readMessages(body, exchange.maxMessageBytes, decode).catch(asRpcError);
}

function asRpcError(reason: unknown): RpcError {
  if (reason instanceof RpcError) return reason;
  throw reason;
}

function inputsOf(received: Received, index: number): MessageContext["inputs"] {
  return (signature) => received.argumentsOf(index, signature);
}

/** A call may fail, and its answer be a result. */
function noteFailure(reason: unknown, { record, request }: HttpExchange, log: Logger): void {
  const { code } = ServingError.from(reason);
  record.failedWith = code;
  logFailure({ reason, code, record, path: request.url ?? "", fields: { method: "POST", status: 200 } }, log);
}

function isRefused(message: Message, headers: RoutingHeaders): boolean {
  try {
    checkMessage({ message, headers });
    return false;
  } catch {
    return true;
  }
}

/** Of the same request, what needs the models asks for them once. */
function onceAsked<Result>(ask: () => Promise<Result>): () => Promise<Result> {
  let asked: Promise<Result> | undefined;
  return () => {
    asked ??= ask();
    return asked;
  };
}

/** Means that a request lends to its messages, of which some need to know all models. */
interface Lent extends MessageContext {
  readonly known: () => Promise<InferenceService>;
}

/** Requests that are answered from the list of models. */
const ABOUT_MODELS: readonly unknown[] = ["tools/list", "tools/call"];

async function answerOne(message: Message, context: Lent): Promise<HttpAnswer> {
  const { headers, known } = context;
  try {
    checkMessage({ message, headers });
    const isAboutModels = message.id !== undefined && ABOUT_MODELS.includes(message.method);
    const body = await answerMessage(message, isAboutModels ? { ...context, service: await known() } : context);
    return body === undefined ? ACCEPTED : { contentType: JSON_TYPE, body };
  } catch (reason) {
    if (!(reason instanceof RpcError)) throw reason;
    return refusal(reason, message.id ?? null, isStateless({ message, headers }));
  }
}

const ACCEPTED: HttpAnswer = { status: 202, contentType: JSON_TYPE, body: Buffer.alloc(0) };

function refusal(error: RpcError, id: Message["id"] | null, isOfNow: boolean): HttpAnswer {
  const body = Buffer.from(JSON.stringify(error.toBody(id ?? null)));
  return { status: statusOf(error, isOfNow), contentType: JSON_TYPE, body };
}

/** Answers a list of messages one after the other, as the revisions before 2025-06-18 have it. */
async function answerBatch(received: Received, lent: Omit<Lent, "inputs">): Promise<HttpAnswer> {
  const { messages } = received;
  try {
    checkBatch(messages, lent.headers?.version);
  } catch (reason) {
    if (reason instanceof RpcError) return refusal(reason, null, false);
    throw reason;
  }
  const answers: Uint8Array[] = [];
  for (const [index, message] of messages.entries()) {
    const { status, body } = await answerOne(message, { ...lent, inputs: inputsOf(received, index) });
    if (status !== ACCEPTED.status) answers.push(Buffer.from(answers.length === 0 ? "[" : ","), body);
  }
  if (answers.length === 0) return ACCEPTED;
  return { contentType: JSON_TYPE, body: Buffer.concat([...answers, Buffer.from("]")]) };
}
