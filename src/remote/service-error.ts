import type { ServiceError } from "@grpc/grpc-js";
import { type ErrorCode, fromGrpcStatus, ServingError } from "../errors.ts";
import { decodeStatusDetails, STATUS_DETAILS } from "../grpc/status-details.ts";

/**
 * The error that a failed call of another server stands for: that server's own text
 * where it answered, else a plain sentence, since what the transport says has addresses
 * in it. The cause has all of it. `hasHeaders` says whether the server sent any.
 */
export function fromServiceError(error: ServiceError, hasHeaders: boolean): ServingError {
  const code = fromGrpcStatus(error.code);
  const text = hasHeaders || isTrailersOnly(error) ? error.details || error.message : TRANSPORT_TEXTS[code];
  const [status] = error.metadata.get(STATUS_DETAILS);
  const details = Buffer.isBuffer(status) ? decodeStatusDetails(status) : undefined;
  return new ServingError(code, text ?? "The call of the server behind this one failed.", { cause: error, details });
}

/** Says that there is no server, or none any more. */
export const UNREACHABLE = "The server behind this one cannot be reached, or its connection was lost; try again later.";

const TRANSPORT_TEXTS: Partial<Record<ErrorCode, string>> = {
  unavailable: UNREACHABLE,
  deadline_exceeded: "The request's deadline passed.",
};

/** Checks if a server sent only a status. */
function isTrailersOnly({ metadata }: ServiceError): boolean {
  return metadata.get("content-type").length > 0;
}
