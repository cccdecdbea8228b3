import type { RawResponse } from "../serving/infer-raw.ts";
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
