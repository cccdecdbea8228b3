import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { fromGrpcStatus } from "../errors.ts";
import type { AccessLog } from "../observability/access-log.ts";
import { countWrites } from "../observability/count-writes.ts";
import { RequestRecord } from "../observability/request-record.ts";

/** Begins the record of a call, and writes its line to the access log when its stream closes. */
export function openRecord(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, access: AccessLog): RequestRecord {
  const record = new RequestRecord(headers);
  if (access.isOn) {
    record.startTiming();
    countWrites(stream, record);
    stream.once("close", () => writeAccess(stream, headers, { record, access }));
  }
  return record;
}

interface Writing {
  readonly record: RequestRecord;
  readonly access: AccessLog;
}

/** gRPC's number for a call that its client left. */
const CANCELLED = 1;

function writeAccess(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, { record, access }: Writing): void {
  const { sentHeaders = {}, sentTrailers = {} } = stream;
  const path = String(headers[":path"]);
  const httpStatus = Number(sentHeaders[":status"] ?? 200);
  // What is not gRPC at all is answered with HTTP's status alone.
  if (httpStatus !== 200) {
    access.write(record, { protocol: "http", method: String(headers[":method"]), path, status: httpStatus });
    return;
  }
  const sent = sentTrailers["grpc-status"] ?? sentHeaders["grpc-status"];
  const status = sent === undefined ? CANCELLED : Number(sent);
  const isCut = sent === undefined && stream.headersSent;
  access.write(record, { protocol: "grpc", path, status, code: codeOf(status), isCut });
}

/** A status by its name in the table of errors. */
function codeOf(status: number): string {
  return status === 0 ? "ok" : fromGrpcStatus(status);
}
