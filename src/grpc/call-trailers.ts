import type { OutgoingHttpHeaders } from "node:http2";
import { ID_HEADER } from "../observability/request-id.ts";
import type { RequestRecord } from "../observability/request-record.ts";
import { SERVER_TIMING, serverTiming } from "../observability/server-timing.ts";
import type { GrpcStatus } from "./grpc-errors.ts";
import { STATUS_DETAILS } from "./status-details.ts";

/**
 * Trailer by which a server tells clients that repeat calls when to do so
 * (https://github.com/grpc/proposal/blob/master/A6-client-retries.md).
 */
const RETRY_PUSHBACK = "grpc-retry-pushback-ms";
const OK_TRAILERS = { "grpc-status": "0" };

/**
 * The trailers of a call that ends with a failure, or without one, and the times of
 * its request where these are asked for.
 */
export function callTrailers(failure: GrpcStatus | undefined, record: RequestRecord | undefined): OutgoingHttpHeaders {
  const status = failure === undefined ? OK_TRAILERS : failureTrailers(failure, record);
  const timing = record && serverTiming(record);
  return timing === undefined ? status : { ...status, [SERVER_TIMING]: timing };
}

function failureTrailers(failure: GrpcStatus, record: RequestRecord | undefined): OutgoingHttpHeaders {
  const { code, details, statusDetails, retryDelayMs, challenge } = failure;
  const id = record?.sendableId;
  return {
    "grpc-status": code,
    "grpc-message": encodeURI(details),
    ...challenge,
    ...(statusDetails !== undefined && { [STATUS_DETAILS]: statusDetails }),
    ...(id !== undefined && { [ID_HEADER]: id }),
    ...(retryDelayMs !== undefined && { [RETRY_PUSHBACK]: Math.ceil(retryDelayMs) }),
  };
}
