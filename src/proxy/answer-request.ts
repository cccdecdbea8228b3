import type { IncomingMessage, ServerResponse } from "node:http";
import type { Caller, CallKind } from "../access/caller.ts";
import { sendError } from "./http-errors.ts";
import { HttpExchange } from "./http-exchange.ts";
import type { HttpDependencies, RouteHandler } from "./http-route.ts";
import { answerBytes, sendAnswer } from "./send-answer.ts";

/** A request with its response. */
export interface RequestPair {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The handler of a request, and its kind, which decides who may send it. */
export interface ChosenRoute {
  readonly kind: CallKind;
  readonly answer: RouteHandler;
}

/** Answers a request, whatever its handler does; never throws. */
export async function answerRequest(
  { kind, answer }: ChosenRoute,
  pair: RequestPair,
  dependencies: HttpDependencies,
): Promise<void> {
  const { request, response } = pair;
  const { log, policy } = dependencies;
  const exchange = new HttpExchange(request, response, dependencies);
  try {
    policy.check(kind, callerOf(request));
    const made = await answer(exchange);
    exchange.holdAnswer(answerBytes(made));
    exchange.beginSending();
    sendAnswer(response, made, log);
  } catch (reason) {
    sendError(reason, { request, response, log });
  } finally {
    exchange.release();
  }
}

function callerOf({ socket, headers, httpVersion }: IncomingMessage): Caller {
  const { remoteAddress: address = "" } = socket;
  return { address, host: headers.host, headers, isHttp10: httpVersion === "1.0" };
}
