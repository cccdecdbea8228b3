import type { Server, ServerDuplexStream } from "@grpc/grpc-js";
import { ServingError } from "../../errors.ts";
import { byteMethod } from "../../grpc/byte-method.ts";
import { toGrpcStatus } from "../../grpc/grpc-errors.ts";
import type { ReflectionHandlers } from "./reflection-handlers.ts";

const PATHS = ["v1", "v1alpha"].map((version) => `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`);

/**
 * Adds server reflection, v1 and v1alpha, so that grpcurl, buf curl and Postman need no .proto files.
 * What answers is loaded with the first call: it would cost every start more than our own services.
 */
export function addReflection(server: Server): void {
  let handlers: Promise<ReflectionHandlers> | undefined;
  const answer = async (path: string, call: ServerDuplexStream<Buffer, Buffer>) => {
    handlers ??= import("./reflection-handlers.ts").then(({ createReflectionHandlers }) => createReflectionHandlers());
    try {
      (await handlers)[path]?.(call);
    } catch (reason) {
      call.emit("error", toGrpcStatus(ServingError.from(reason)));
    }
  };
  for (const path of PATHS) {
    server.addService(
      { info: byteMethod(path, "bidiStream") },
      { info: (call: ServerDuplexStream<Buffer, Buffer>) => void answer(path, call) },
    );
  }
}
