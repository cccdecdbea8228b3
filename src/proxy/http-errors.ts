import type { IncomingMessage, ServerResponse } from "node:http";
import type { ErrorRequestHandler } from "express";
import { AccessError, type AnswerHeaders } from "../access/access-error.ts";
import { type ErrorHint, hintMembers, toDetail } from "../error-info.ts";
import { type ErrorCode, type ErrorDetail, ServingError, STATUS } from "../errors.ts";
import { logFailure } from "../observability/log-failure.ts";
import type { Logger } from "../observability/logger.ts";
import { ID_HEADER } from "../observability/request-id.ts";
import { resetConnection } from "../platform/net/node-members.ts";
import { cutText } from "../platform/text/cut-text.ts";
import { maskSecrets } from "../platform/text/mask-secrets.ts";
import { retryDelayMs } from "../retry-info.ts";
import { ObservedRequest } from "./observed-request.ts";
import { setServerTiming } from "./set-server-timing.ts";
import { StreamSocket } from "./stream-socket.ts";

/** Time for a client that is still sending to read why it is refused, in milliseconds. */
export const LINGER_MS = 1000;
/** Value of Retry-After if the server has no room or restarts a thread, in seconds. */
const RETRY_AFTER_S = "1";

/** Options of an {@link HttpError}. */
interface HttpErrorOptions extends ErrorOptions {
  readonly hint?: ErrorHint;
}

/** An error with a status that only HTTP has; all others are {@link ServingError}. */
export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly details: readonly ErrorDetail[] | undefined;

  constructor(status: number, message: string, headers: AnswerHeaders = {}, options?: HttpErrorOptions) {
    super(maskSecrets(message), options);
    this.status = status;
    this.headers = headers;
    this.details = options?.hint && [toDetail(options.hint)];
  }
}

/** Status, headers and body of the answer to an error, for handlers that need them. */
export function toErrorAnswer(reason: unknown): Pick<HttpError, "status" | "headers"> & { readonly body: Buffer } {
  const { status, headers, message } = reason instanceof HttpError ? reason : toHttpError(ServingError.from(reason));
  return { status, headers, body: errorBody(message) };
}

/** The last middleware: answers errors that Express throws, for example for a wrongly percent-encoded path. */
export function createErrorMiddleware(log: Logger): ErrorRequestHandler {
  return (reason, request, response, _next) => {
    const isPath = reason instanceof URIError;
    sendError(isPath ? new HttpError(400, `${reason.message}.`) : reason, { request, response, log });
  };
}

/** Tells the path of what programs read about a model, or about all of them for an empty name. */
export type DocsOf = (model: string) => string;

/** An error as a client is told it. */
export interface ToldFailure {
  readonly message: string;
  readonly status: number;
  /** Absent = only HTTP has it. */
  readonly code?: ErrorCode | undefined;
  /** The members of its hint for programs; absent = it has none. */
  readonly hint?: Readonly<Record<string, string>> | undefined;
}

/** Makes the body of an error in another form than that of most protocols, and headers of one that is an answer. */
export type ErrorForm = (failure: ToldFailure) => { readonly body: object; readonly headers?: AnswerHeaders };

/** A failed request, and the logger. */
export interface FailedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly log: Logger;
  /** The protocol's; absent = it takes no members beside `error`. */
  readonly docsOf?: DocsOf | undefined;
  /** The protocol's; absent = the form of all others. */
  readonly errorForm?: ErrorForm | undefined;
}

/**
 * Answers with `{"error": message}` and the status of the error, and with members for programs if the protocol takes
 * them, or in the protocol's own form; the cause goes to the log only.
 */
export function sendError(reason: unknown, failed: FailedRequest): void {
  const { request, response } = failed;
  const record = ObservedRequest.recordOf(request);
  const told = noteError(reason, failed);
  const { status, headers } = told;
  if (response.headersSent || response.destroyed) {
    cutShort(request, response);
    return;
  }
  const formed = failed.errorForm?.(toFailure(reason, told));
  const body = formed ? Buffer.from(JSON.stringify(formed.body)) : bodyOf(reason, told, failed.docsOf, record.model);
  const id = record.sendableId;
  record.wrote(body.length);
  setServerTiming(response, record);
  response.writeHead(status, {
    ...headers,
    ...formed?.headers,
    "content-type": "application/json",
    "content-length": body.length,
    "x-content-type-options": "nosniff",
    ...(id !== undefined && { [ID_HEADER]: id }),
    ...(!request.complete && { connection: "close" }),
  });
  // The rest of a request of HTTP/2 is refused without its connection.
  if (request.complete || StreamSocket.carries(request)) response.end(body);
  else endUnread(body, request, response);
}

function bodyOf(reason: unknown, told: HttpError, docsOf: DocsOf | undefined, model: string): Buffer {
  return errorBody(told.message, docsOf && hintOf(reason, model, docsOf));
}

/** An error as a client is told it, of which `told` has the status. */
export function toFailure(reason: unknown, { message, status }: HttpError): ToldFailure {
  const error = reason instanceof HttpError ? reason : ServingError.from(reason);
  const code = error instanceof HttpError ? undefined : error.code;
  return { message, status, code, hint: hintMembers(error.details) };
}

/**
 * Ends an answer that has begun so that its client does not take it for whole: to a client of HTTP/1.0 the end of the
 * connection would be the end of the answer, unless it is a reset.
 */
export function cutShort({ httpVersion }: IncomingMessage, response: ServerResponse): void {
  if (httpVersion === "1.0" && response.socket !== null) resetConnection(response.socket);
  response.destroy();
}

/**
 * Logs an error and notes it as that of an answer which has begun; returns it as a client is to be told.
 */
export function noteError(reason: unknown, { request, response, log }: FailedRequest): HttpError {
  const error = reason instanceof HttpError ? reason : ServingError.from(reason);
  const told = error instanceof HttpError ? error : toHttpError(error);
  const { method, url: path = "" } = request;
  const code = error instanceof HttpError ? undefined : error.code;
  const record = ObservedRequest.recordOf(request);
  logFailure({ reason, code, record, path, fields: { method, status: told.status } }, log);
  if (response.headersSent || response.destroyed) record.failedWith = code;
  return told;
}

/** Connections whose last answer has been sent: further bytes on them are discarded. */
const answered = new WeakSet<object>();

/**
 * Checks that a connection has had its last answer: a client would take another for
 * that of a request which was never read.
 */
export function hadLastAnswer(socket: object): boolean {
  return answered.has(socket);
}

/** The form of all errors; long messages are cut. `hint`: more members of it. */
export function errorBody(message: string, hint: object = {}): Buffer {
  return Buffer.from(JSON.stringify({ error: cutText(message), ...hint }, null, 4));
}

/** The members of an error for programs: its code, and those of its hint with a path to read on. */
function hintOf(reason: unknown, model: string, docsOf: DocsOf): Readonly<Record<string, string>> {
  const error = reason instanceof HttpError ? reason : ServingError.from(reason);
  const hint = hintMembers(error.details);
  const code = error instanceof HttpError ? {} : { code: error.code };
  if (hint === undefined) return code;
  return { ...code, ...hint, docs: docsOf(error instanceof HttpError || error.code === "not_found" ? "" : model) };
}

function toHttpError(error: ServingError): HttpError {
  const { code, message, details } = error;
  const delayMs = retryDelayMs(details);
  const seconds = delayMs === undefined ? RETRY_AFTER_S : String(Math.ceil(delayMs / 1000));
  const isLater = code === "unavailable" || delayMs !== undefined;
  const headers = isLater ? { "retry-after": seconds } : AccessError.headersOf(error);
  return new HttpError(STATUS[code].http, message, headers);
}

/**
 * Answers a request whose body was not read to its end. Closing immediately would reset the connection, and the sending
 * client would lose the answer; so the rest is discarded for a while.
 */
function endUnread(body: Buffer, request: IncomingMessage, response: ServerResponse): void {
  answered.add(request.socket);
  response.write(body);
  const end = () => response.end();
  const timer = setTimeout(end, LINGER_MS);
  request.once("close", () => {
    clearTimeout(timer);
    end();
  });
  request.resume();
}
