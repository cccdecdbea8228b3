import { AccessError, type AnswerHeaders } from "../access/access-error.ts";
import { isErrorDetails, ServingError, STATUS } from "../errors.ts";
import { cutText } from "../platform/text/cut-text.ts";
import { retryDelayMs } from "../retry-info.ts";
import { encodeStatusDetails } from "./status-details.ts";

/** An error as a client sees it: one of gRPC's status numbers, and a text. */
export interface GrpcStatus {
  readonly code: number;
  readonly details: string;
  /** A google.rpc.Status in base64, where the error has machine-readable details. */
  readonly statusDetails?: string | undefined;
  /** Milliseconds after which a client may try again; undefined = it is for the client to say. */
  readonly retryDelayMs?: number | undefined;
  /** Trailers with the ways to authenticate; undefined for errors of other kinds. */
  readonly challenge?: AnswerHeaders;
}

/** The status for any thrown value; causes stay on the server. */
export function toGrpcStatus(reason: unknown): GrpcStatus {
  const { code: name, message, details } = ServingError.from(reason);
  const status = { code: STATUS[name].grpc, details: cutText(message), ...challengeOf(reason) };
  if (!isErrorDetails(details)) return status;
  const statusDetails = encodeStatusDetails({ code: status.code, message: status.details, details });
  return { ...status, statusDetails, retryDelayMs: retryDelayMs(details) };
}

/** As `WWW-Authenticate` of HTTP; gRPC has no form of its own for it. */
function challengeOf(reason: unknown): Pick<GrpcStatus, "challenge"> {
  const challenge = AccessError.headersOf(reason);
  return Object.keys(challenge).length > 0 ? { challenge } : {};
}
