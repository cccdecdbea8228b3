import { IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AccessLog } from "../observability/access-log.ts";
import { countWrites } from "../observability/count-writes.ts";
import { RequestRecord } from "../observability/request-record.ts";

/** A request that carries its record along, for `createServer({ IncomingMessage: RecordedRequest })`. */
export class RecordedRequest extends IncomingMessage {
  #record: RequestRecord | undefined;

  /** The record of a request; one that another server read gets a new one each time. */
  static recordOf(request: IncomingMessage): RequestRecord {
    if (!(#record in request)) return new RequestRecord(request.headers);
    request.#record ??= new RequestRecord(request.headers);
    return request.#record;
  }
}

/** Writes a line to the access log for each request of a server, when its connection or its answer ends. */
export function logRequests(server: Server, access: AccessLog): void {
  const begin = (request: IncomingMessage, response: ServerResponse) => {
    if (!access.isOn) return;
    const record = RecordedRequest.recordOf(request);
    record.startTiming();
    countWrites(response, record);
    response.once("close", () => writeAccess(request, response, { record, access }));
  };
  for (const event of ["request", "checkContinue", "checkExpectation"]) server.prependListener(event, begin);
}

/** Writes the line of bytes that are not an HTTP request, of which nothing but the answer's status is known. */
export function logGarbage(status: number | undefined, access: AccessLog): void {
  if (status === undefined || !access.isOn) return;
  const record = new RequestRecord({});
  record.startTiming();
  access.write(record, { protocol: "http", path: "", status });
}

interface Writing {
  readonly record: RequestRecord;
  readonly access: AccessLog;
}

/** The status of a request whose client left before its answer, as in the table of errors. */
const CLIENT_LEFT = 499;

function writeAccess(request: IncomingMessage, response: ServerResponse, { record, access }: Writing): void {
  const { method, url = "" } = request;
  const status = response.headersSent ? response.statusCode : CLIENT_LEFT;
  const isCut = response.headersSent && !response.writableFinished;
  access.write(record, { protocol: "http", method, path: url, status, isCut });
}
