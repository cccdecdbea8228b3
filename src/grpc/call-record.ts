import { fromGrpcStatus } from "../errors.ts";
import type { SentHeaders } from "../http2/hpack-encoder.ts";
import type { ReceivedFields } from "../http2/message-head.ts";
import type { ServerStream } from "../http2/server-session.ts";
import type { RequestObserver } from "../observability/request-observer.ts";
import { RequestRecord } from "../observability/request-record.ts";
import { isPassedOn } from "../platform/net/sockets.ts";
import { peerOf } from "./peer.ts";

/** Begins the record of a call; with times if an observer needs them. */
export function openRecord(
  { session }: ServerStream,
  headers: ReceivedFields,
  observer: RequestObserver,
): RequestRecord {
  const record = new RequestRecord(headers);
  observer.begin(record, peerOf(session).address);
  return record;
}

/** A call's record, and its observer. */
export interface ObservedCall {
  readonly record: RequestRecord;
  readonly observer: RequestObserver;
}

/**
 * Code of a reset by which a thread that has passed a call on says that it answers and reports it itself; it is none of
 * RFC 9113's, and means nothing from others.
 */
export const ANSWERED_THERE = 0x6b73_0001;

const NOTHING: SentHeaders = {};
/** gRPC's status number for a cancelled call. */
const CANCELLED = 1;

/** Reports a call whose stream has closed, unless there was no observer when it began. */
export function tellOver(stream: ServerStream, headers: ReceivedFields, { record, observer }: ObservedCall): void {
  const isReportedThere = stream.rstCode === ANSWERED_THERE && isPassedOn(stream.session.socket);
  if (!record.isTimed || isReportedThere) return;
  const { sentHeaders = NOTHING, sentTrailers = NOTHING } = stream;
  const path = String(headers[":path"]);
  const httpStatus = Number(sentHeaders[":status"] ?? 200);
  // A request that is not gRPC gets an HTTP status only.
  if (httpStatus !== 200) {
    observer.over(record, { protocol: "http", method: String(headers[":method"]), path, status: httpStatus });
    return;
  }
  const sent = sentTrailers["grpc-status"] ?? sentHeaders["grpc-status"];
  const status = sent === undefined ? CANCELLED : Number(sent);
  const isCut = sent === undefined && stream.headersSent;
  observer.over(record, { protocol: "grpc", path, status, code: codeOf(status), isCut });
}

/** The name of a status in the table of errors. */
function codeOf(status: number): string {
  return status === 0 ? "ok" : fromGrpcStatus(status);
}
