import { IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { STATUS } from "../errors.ts";
import type { RequestObserver } from "../observability/request-observer.ts";
import { RequestRecord } from "../observability/request-record.ts";
import { isPassedOn } from "../platform/net/sockets.ts";

/** A request with its record, for `createServer({ IncomingMessage: ObservedRequest })`. */
export class ObservedRequest extends IncomingMessage {
  #record: RequestRecord | undefined;

  /** The record of a request; a request from another server class gets a new record each time. */
  static recordOf(request: IncomingMessage): RequestRecord {
    if (!(#record in request)) return new RequestRecord(request.headers);
    request.#record ??= new RequestRecord(request.headers);
    return request.#record;
  }
}

/** Reports each request of a server to the observer, when its connection or its answer ends. */
export function observeRequests(server: Server, observer: RequestObserver): void {
  const begin = (request: IncomingMessage, response: ServerResponse) => {
    const record = ObservedRequest.recordOf(request);
    if (!observer.begin(record, request.socket.remoteAddress)) return;
    response.on("close", () => tellOver(request, response, { record, observer }));
  };
  for (const event of ["request", "checkContinue", "checkExpectation"]) server.prependListener(event, begin);
}

/** The status of a request whose client left before its answer, as in the table of errors. */
const CLIENT_LEFT = 499;

/** The refusal of what has come on a connection. */
interface Refusal {
  readonly status: number;
  /** The status of a request that has begun. */
  readonly ofRequest: number;
  /** True once it was reported as that of a request. */
  isTold: boolean;
}

const refusals = new WeakMap<object, Refusal>();

/**
 * Reports bytes that are not an HTTP request to the observer; only their status is known. Those of a request that has
 * begun, and does not come whole, are reported as that request, both when the connection closes. `isEnd`: there are
 * no more, since the client has left.
 */
export function observeGarbage(
  status: number | undefined,
  { socket, isEnd = false }: { readonly socket: Duplex; readonly isEnd?: boolean },
  observer: RequestObserver,
): void {
  if (status === undefined) return;
  const refusal = { status, ofRequest: isEnd ? CLIENT_LEFT : status, isTold: false };
  refusals.set(socket, refusal);
  socket.once("close", () => {
    const record = new RequestRecord({});
    if (!refusal.isTold && observer.begin(record)) observer.over(record, { protocol: "http", path: "", status });
  });
}

interface Told {
  readonly record: RequestRecord;
  readonly observer: RequestObserver;
}

function tellOver(request: IncomingMessage, response: ServerResponse, { record, observer }: Told): void {
  if (record.isPassedOn || isAnsweredThere(request, response)) return;
  const { method, url = "" } = request;
  const status = response.headersSent ? response.statusCode : statusWithout(request);
  const isCut = response.headersSent && !response.writableFinished;
  const { failedWith } = record;
  const endStatus = failedWith === undefined ? CLIENT_LEFT : STATUS[failedWith].http;
  // An error was the answer, however little of it the client has read.
  // One in parts may end with an error, and is whole.
  const ended = (isCut || failedWith !== undefined) && { ...(isCut && { isCut }), ...(status < 400 && { endStatus }) };
  observer.over(record, { protocol: "http", method, path: url, status, ...ended });
}

/**
 * True for a request that another thread has passed on, whose connection this one has ended without an answer: the
 * other thread answers its client, and reports it.
 */
function isAnsweredThere({ socket }: IncomingMessage, { headersSent }: ServerResponse): boolean {
  return isPassedOn(socket) && !headersSent && !socket.readableEnded && socket.errored === null;
}

/** The status of a request that a handler has not answered: it was refused since it did not come whole, or was left. */
function statusWithout({ complete, socket }: IncomingMessage): number {
  const refusal = complete ? undefined : refusals.get(socket);
  if (refusal !== undefined) refusal.isTold = true;
  return refusal?.ofRequest ?? CLIENT_LEFT;
}
