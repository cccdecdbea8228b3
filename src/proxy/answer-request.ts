import type { IncomingMessage, ServerResponse } from "node:http";
import { type CallScope, runInScope } from "../access/call-scope.ts";
import type { CallKind } from "../access/caller.ts";
import type { ControlAccess } from "../access/control-access.ts";
import type { RouteName } from "../observability/request-record.ts";
import { callerOf } from "./caller-of.ts";
import { acceptedCompression, compressAnswer } from "./compress-answer.ts";
import { sendError } from "./http-errors.ts";
import { HttpExchange } from "./http-exchange.ts";
import type { HttpDependencies, RouteHandler } from "./http-route.ts";
import { heldBytes, sendAnswer } from "./send-answer.ts";
import { setServerTiming } from "./set-server-timing.ts";

/** A request with its response. */
export interface RequestPair {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The handler of a request, and its kind, which decides who may send it. */
export interface ChosenRoute {
  readonly kind: CallKind;
  /** As {@link HttpRoute.access}. */
  readonly access?: ControlAccess | undefined;
  /** As {@link HttpRoute.neverCompressed}. */
  readonly neverCompressed?: true | undefined;
  /** Absent = no route has the URL. */
  readonly name?: RouteName;
  readonly answer: RouteHandler;
}

/** Answers a request, whatever its handler throws; never throws itself. */
export async function answerRequest(
  { kind, access, neverCompressed, name, answer }: ChosenRoute,
  pair: RequestPair,
  dependencies: HttpDependencies,
): Promise<void> {
  const { request, response } = pair;
  const { log, policy, clients, accountKey } = dependencies;
  const exchange = new HttpExchange(request, response, dependencies);
  exchange.record.route = name;
  exchange.record.settleTrace(kind === "inference" || kind === "control");
  try {
    const caller = callerOf(request);
    const { authorization } = request.headers;
    // Nothing of the body is read before.
    const entered = policy.enter(kind, caller);
    const scope = entered instanceof Promise ? await entered : entered;
    policy.check(kind, caller, access);
    const client = scope === undefined ? caller : { user: scope.user, ...caller };
    exchange.belongTo(accountKey(client));
    if (clients !== undefined && kind !== "health") {
      const begun = clients.enter(client);
      countUntilAnswered(response, begun instanceof Promise ? await begun : begun);
    }
    if (request.headers.expect !== undefined) letSend(pair, dependencies.maxMessageBytes);
    const plain = await (scope === undefined ? answer(exchange) : answerFor(scope, exchange, answer));
    exchange.holdAnswer(heldBytes(plain));
    const compression = neverCompressed ? undefined : acceptedCompression(request);
    const made =
      compression === undefined || plain.contentEncoding !== undefined
        ? plain
        : await compressAnswer(plain, compression, exchange);
    exchange.beginSending([made.body, ...(made.rest ?? [])]);
    setServerTiming(response, exchange.record);
    const wrote = (bytes: number) => exchange.record.wrote(request.method === "HEAD" ? 0 : bytes);
    const sending = sendAnswer(response, made, { id: exchange.record.sendableId, log, wrote });
    if (sending !== undefined) {
      const again = { ...caller, headers: { ...caller.headers, authorization } };
      const stop = scope && policy.watch({ kind, caller: again, scope, end: (reason) => response.destroy(reason) });
      await sending.finally(stop);
    }
  } catch (reason) {
    await arrivedTogether(request);
    sendError(reason, { request, response, log });
  } finally {
    exchange.release();
  }
}

/** Ends a client's request when its answer has been sent, or its connection is gone. */
function countUntilAnswered(response: ServerResponse, end: () => void): void {
  if (response.destroyed || response.closed) end();
  else response.on("close", end);
}

/**
 * Waits until the bytes are read that came with a request's head: its connection goes on where the body was among them.
 */
async function arrivedTogether(request: IncomingMessage): Promise<void> {
  if (!request.complete) await new Promise((resolve) => setImmediate(resolve));
}

/** The request without its password, which hooks and models must not see. */
function answerFor(scope: CallScope, exchange: HttpExchange, answer: RouteHandler): ReturnType<RouteHandler> {
  delete exchange.request.headers.authorization;
  exchange.record.user = scope.user;
  return runInScope(scope, () => answer(exchange));
}

/** Answers `Expect: 100-continue`, unless the body is one that is not taken. */
function letSend({ request, response }: RequestPair, maxBytes: number): void {
  const { headers, httpVersion } = request;
  if (httpVersion !== "1.0" && !(Number(headers["content-length"]) > maxBytes)) response.writeContinue();
}
