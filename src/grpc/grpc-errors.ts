import type { ServiceError } from "@grpc/grpc-js";
import { fromGrpcStatus, ServingError, STATUS } from "../errors.ts";

/** TensorFlow Serving cuts messages at this many bytes; headers of 8 KB, where some clients give up, stay far away. */
const MAX_DETAIL_BYTES = 1024;
const CUT_MARK = "...TRUNCATED";

/** What a client is told of an error: a number of gRPC's and a text. */
export interface GrpcStatus {
  readonly code: number;
  readonly details: string;
}

/** The status for anything that was thrown; causes stay here. */
export function toGrpcStatus(reason: unknown): GrpcStatus {
  const { code, message } = ServingError.from(reason);
  return { code: STATUS[code].grpc, details: cut(message) };
}

/** The error that another server's status stands for, with that server's text. */
export function fromServiceError(error: ServiceError): ServingError {
  return new ServingError(fromGrpcStatus(error.code), error.details || error.message, { cause: error });
}

/** Passing through UTF-8 replaces halves of surrogate pairs, which a header cannot carry. */
function cut(message: string): string {
  const bytes = Buffer.from(message);
  if (bytes.length <= MAX_DETAIL_BYTES) return bytes.toString();
  let end = MAX_DETAIL_BYTES;
  while (isContinuation(bytes[end] as number)) end--;
  return bytes.toString("utf8", 0, end) + CUT_MARK;
}

/** Whether a byte is the second or a later one of a UTF-8 character. */
function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}
