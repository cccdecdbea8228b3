import { IncomingMessage, type Server, type ServerResponse } from "node:http";
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

/** Reports bytes that are not an HTTP request to the observer; only their status is known. */
export function observeGarbage(status: number | undefined, observer: RequestObserver): void {
  const record = new RequestRecord({});
  if (status === undefined || !observer.begin(record)) return;
  observer.over(record, { protocol: "http", path: "", status });
}

interface Told {
  readonly record: RequestRecord;
  readonly observer: RequestObserver;
}

/** The status of a request whose client left before its answer, as in the table of errors. */
const CLIENT_LEFT = 499;

function tellOver(request: IncomingMessage, response: ServerResponse, { record, observer }: Told): void {
  if (record.isPassedOn || isAnsweredThere(request, response)) return;
  const { method, url = "" } = request;
  const status = response.headersSent ? response.statusCode : CLIENT_LEFT;
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
