import { inferRaw, type RawResponse } from "../serving/infer-raw.ts";
import type { InferenceService } from "../serving/inference-service.ts";
import { answerInParts } from "./answer-parts.ts";
import type { HttpExchange } from "./http-exchange.ts";
import type { HttpAnswer } from "./http-route.ts";

/**
 * Answers with the bytes of a function of hooks, which `run` calls: whole, or part by part as they are passed to
 * `write`, with the status, media type and headers of the first part.
 */
export function answerRaw(
  exchange: HttpExchange,
  run: (write: (part: RawResponse) => Promise<void>) => Promise<RawResponse>,
): Promise<HttpAnswer> {
  const toPart = async (part: RawResponse) => toHttpAnswer(part);
  return answerInParts({ orAnswer: true }, exchange, { run, toPart, toAnswer: toHttpAnswer });
}

function toHttpAnswer({ status, contentType, body, metadata: headers }: RawResponse): HttpAnswer {
  return { status, contentType, body, headers };
}

/** The route of a request, and the model whose hooks declare it. */
interface Found {
  readonly model: string;
  readonly method: string;
  readonly path: string;
  readonly query: string;
}

/** Answers a request by the function of hooks that declares its route. */
export async function answerByHook(
  service: InferenceService,
  exchange: HttpExchange,
  { model, method, path, query }: Found,
): Promise<HttpAnswer> {
  exchange.record.model = model;
  const body = await exchange.readBody();
  const call = exchange.callInfo();
  const head = { entry: `${method === "HEAD" ? "GET" : method} ${path}`, facts: { method, path, query } };
  return answerRaw(exchange, async (write) => {
    const lease = await service.acquire({ model }, call);
    try {
      return await inferRaw(lease, { ...head, body, call, write });
    } finally {
      lease.release();
    }
  });
}
