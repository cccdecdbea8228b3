import type { IncomingMessage, ServerResponse } from "node:http";
import type { LiveCall } from "../access/authentication/live-calls.ts";
import { type CallScope, runInScope } from "../access/call-scope.ts";
import type { CallKind } from "../access/caller.ts";
import type { ControlAccess } from "../access/control-access.ts";
import type { Logger } from "../observability/logger.ts";
import type { RouteName } from "../observability/request-record.ts";
import { type Compression, compress, compressStream, isCompression } from "../platform/limits/compression.ts";
import { callerOf } from "./caller-of.ts";
import { type DocsOf, type ErrorForm, noteError, sendError, type ToldFailure, toFailure } from "./http-errors.ts";
import { HttpExchange } from "./http-exchange.ts";
import {
  type HttpAnswer,
  type HttpDependencies,
  type HttpRoute,
  type NamedHttpProtocol,
  nameRoute,
  type PathParameters,
  type RouteHandler,
} from "./http-route.ts";
import { answerBytes, heldBytes, sendAnswer } from "./send-answer.ts";
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
  /** The protocol's. */
  readonly docsOf?: DocsOf | undefined;
  /** The protocol's. */
  readonly errorForm?: ErrorForm | undefined;
  /** The protocol's. */
  readonly keyHeader?: string | undefined;
  readonly answer: RouteHandler;
}

/** Answers a request, whatever its handler throws; never throws itself. */
export async function answerRequest(
  { kind, access, neverCompressed, name, docsOf, errorForm, keyHeader, answer }: ChosenRoute,
  pair: RequestPair,
  dependencies: HttpDependencies,
): Promise<void> {
  const { request, response } = pair;
  const { log, policy, clients, accountKey } = dependencies;
  const exchange = new HttpExchange(request, response, dependencies);
  exchange.record.route = name;
  exchange.record.settleTrace(kind === "inference" || kind === "control");
  let stop: (() => void) | undefined;
  try {
    const isTaken = takeKey(request, keyHeader);
    const caller = callerOf(request);
    // Nothing of the body is read before.
    const entered = policy.enter(kind, caller);
    const scope = entered instanceof Promise ? await entered : entered;
    if (isTaken && scope === undefined) delete request.headers.authorization;
    policy.check(kind, caller, access);
    stop = scope && watchPermission(exchange, pair, { kind, scope, policy });
    const client = scope === undefined ? caller : { user: scope.user, ...caller };
    exchange.belongTo(accountKey(client));
    if (clients !== undefined && kind !== "health") {
      const begun = clients.enter(client);
      countUntilAnswered(response, begun instanceof Promise ? await begun : begun);
    }
    if (request.headers.expect !== undefined) letSend(pair, dependencies.maxMessageBytes);
    // Limits tell clients apart by it, perhaps; hooks do not get it.
    if (keyHeader !== undefined) delete request.headers[keyHeader];
    const plain = await (scope === undefined ? answer(exchange) : answerFor(scope, exchange, answer));
    // The request of an answer in parts is still used, and the parts are counted one by one.
    const held = isInParts(plain) ? plain : holdAnswer(plain, exchange, neverCompressed);
    const made = held instanceof Promise ? await held : held;
    exchange.beginSending([made.body, ...(made.rest ?? [])]);
    setServerTiming(response, exchange.record);
    const wrote = (bytes: number) => exchange.record.wrote(request.method === "HEAD" ? 0 : bytes);
    const failed = isInParts(made) ? noteFailure(pair, log) : undefined;
    const sending = sendAnswer(response, made, { id: exchange.record.sendableId, log, wrote, failed });
    if (sending !== undefined) await sending;
  } catch (reason) {
    await arrivedTogether(request);
    sendError(reason, { request, response, log, docsOf, errorForm });
  } finally {
    stop?.();
    exchange.release();
  }
}

/** A route of a protocol as it is chosen for requests with these parameters. */
export function chosenBy(
  { kind, access, neverCompressed, method, path, answer }: HttpRoute,
  { name: protocol, docsOf, errorForm, keyHeader }: NamedHttpProtocol,
): (parameters: PathParameters) => ChosenRoute {
  const name = nameRoute(protocol, method, path);
  return (parameters) => {
    const own: RouteHandler = (exchange) => answer(exchange, parameters);
    return { kind, access, neverCompressed, name, docsOf, errorForm, keyHeader, answer: own };
  };
}

/** Answers GET for the server's own page, which is to be there before Express is loaded; returns false otherwise. */
export function ownPageRouter(
  protocols: readonly NamedHttpProtocol[],
  dependencies: HttpDependencies,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  const routes = protocols.flatMap((protocol) =>
    (protocol.routes ?? [])
      .filter(({ method, isForOwnPage }) => method === "GET" && isForOwnPage === true)
      .map((route) => ({ takes: route.takes, parts: route.path.split("/"), choose: chosenBy(route, protocol) })),
  );
  return (request, response) => {
    const { method, url = "" } = request;
    if (method !== "GET" && method !== "HEAD") return false;
    const [path = ""] = url.split("?", 1);
    const parts = path.split("/", MAX_PARTS);
    for (const { takes, parts: own, choose } of routes) {
      const parameters = parametersOf(own, parts);
      if (parameters === undefined || takes?.(request) === false) continue;
      void answerRequest(choose(parameters), { request, response }, dependencies);
      return true;
    }
    return false;
  };
}

/** Parts of a path that are looked at; no route of the page has as many. */
const MAX_PARTS = 20;

/** The parameters of a path; undefined if it is another's, or has one that cannot be decoded. */
function parametersOf(own: readonly string[], parts: readonly string[]): PathParameters | undefined {
  const isSame = own.every((part, index) => part === parts[index] || (part.startsWith(":") && parts[index]));
  if (!isSame || own.length !== parts.length) return undefined;
  try {
    const named = own.map((part, index) => [part.slice(1), decodeURIComponent(parts[index] ?? "")] as const);
    return Object.fromEntries(named.filter((_, index) => own[index]?.startsWith(":")));
  } catch {
    return undefined;
  }
}

/** Time for the error that ends an answer, in milliseconds. */
const LAST_WORDS_MS = 1000;

/** Ends a request once its client may make it no longer; returns how to stop. */
function watchPermission(
  exchange: HttpExchange,
  { request, response }: RequestPair,
  { policy, kind, scope }: Pick<HttpDependencies, "policy"> & Pick<LiveCall, "kind" | "scope">,
): () => void {
  // It is taken away from the request as soon as that is answered.
  const { authorization } = request.headers;
  return policy.watch({
    kind,
    scope,
    get caller() {
      const caller = callerOf(request);
      return { ...caller, headers: { ...caller.headers, authorization } };
    },
    end: (reason) => {
      exchange.giveUp(reason);
      // One who does not read is not waited for.
      setTimeout(() => response.writableFinished || response.destroy(reason), LAST_WORDS_MS).unref();
    },
  });
}

/** Ends a client's request when its answer has been sent, or its connection is gone. */
function countUntilAnswered(response: ServerResponse, end: () => void): void {
  if (response.destroyed || response.closed) end();
  else response.on("close", end);
}

/**
 * Waits until the bytes are read that came with a request's head: its connection goes on if the body was among them.
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

/** Takes a token that is in another header for one in `Authorization`, unless that is there; returns false then. */
function takeKey({ headers }: IncomingMessage, keyHeader: string | undefined): boolean {
  if (keyHeader === undefined) return false;
  const key = headers[keyHeader];
  if (typeof key !== "string" || key === "" || headers.authorization !== undefined) return false;
  headers.authorization = `Bearer ${key}`;
  return true;
}

/** Answers `Expect: 100-continue`, unless the body is one that is not taken. */
function letSend({ request, response }: RequestPair, maxBytes: number): void {
  const { headers, httpVersion } = request;
  if (httpVersion !== "1.0" && !(Number(headers["content-length"]) > maxBytes)) response.writeContinue();
}

/**
 * The compression of answers for a client that accepts either gzip or deflate, and so asks for it. A client that lists
 * both does so for every server, and gets the fastest answer: uncompressed, which is undefined.
 */
function acceptedCompression({ headers }: IncomingMessage): Compression | undefined {
  const { "accept-encoding": accepted } = headers;
  if (accepted === undefined) return undefined;
  const name = accepted.trim().toLowerCase();
  return isCompression(name) ? name : undefined;
}

const NO_BYTES = new Uint8Array(0);

/** Compressed parts would wait for each other. */
function isInParts({ stream }: HttpAnswer): boolean {
  return stream?.inParts === true;
}

/** Notes the error of an answer that tells it, and returns that as the client is told. */
function noteFailure({ request, response }: RequestPair, log: Logger): (reason: unknown) => ToldFailure {
  return (reason) => toFailure(reason, noteError(reason, { request, response, log }));
}

/** Counts an answer in place of its request, and compresses it for a client that wants it. */
function holdAnswer(
  plain: HttpAnswer,
  exchange: HttpExchange,
  neverCompressed = false,
): HttpAnswer | Promise<HttpAnswer> {
  exchange.holdAnswer(heldBytes(plain));
  const compression = neverCompressed ? undefined : acceptedCompression(exchange.request);
  if (compression === undefined || plain.contentEncoding !== undefined) return plain;
  return compressAnswer(plain, compression, exchange);
}

/** Compresses an answer, unless it is small. Throws `unavailable` if memory is short. */
async function compressAnswer(
  answer: HttpAnswer,
  compression: Compression,
  exchange: HttpExchange,
): Promise<HttpAnswer> {
  const { body, rest = [], stream, ...head } = answer;
  if (stream !== undefined) {
    const parts = compressStream(joined([body, ...rest], stream.parts), compression);
    return { ...head, body: NO_BYTES, stream: { ...stream, parts }, contentEncoding: compression };
  }
  let bytes = answerBytes(answer);
  const pieces = await compress([body, ...rest], compression, (made) => {
    bytes += made;
    // In addition to the uncompressed answer, until that is discarded.
    exchange.holdAnswer(bytes);
  });
  if (pieces === undefined) return answer;
  const [first = NO_BYTES, ...others] = pieces;
  const compressed = { ...head, body: first, rest: others, contentEncoding: compression };
  exchange.holdAnswer(answerBytes(compressed));
  return compressed;
}

async function* joined(first: readonly Uint8Array[], rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* first;
  yield* rest;
}
