import { ServingError, STATUS } from "../errors.ts";
import { cutText } from "../text/cut-text.ts";

/** What a client is told of an error: a number of gRPC's and a text. */
export interface GrpcStatus {
  readonly code: number;
  readonly details: string;
}

/** The status for anything that was thrown; causes stay here. */
export function toGrpcStatus(reason: unknown): GrpcStatus {
  const { code, message } = ServingError.from(reason);
  return { code: STATUS[code].grpc, details: cutText(message) };
}
