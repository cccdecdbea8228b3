import type { CreateGrpcProtocol } from "../grpc/grpc-route.ts";
import type { CreateHttpProtocol } from "../proxy/http-route.ts";

/** Everything that the server needs of a protocol: a folder exports one, and server/protocols.ts lists it. */
export interface Protocol {
  readonly name: string;
  /** Its methods over gRPC. */
  readonly grpc?: CreateGrpcProtocol;
  /** Its routes over HTTP. */
  readonly http?: CreateHttpProtocol;
}
