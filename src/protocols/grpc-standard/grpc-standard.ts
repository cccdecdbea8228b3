import type { CreateGrpcProtocol, StreamExchange, StreamRoute } from "../../grpc/grpc-route.ts";
import { SMALL_REQUEST_BYTES } from "../../platform/limits/transport-limits.ts";
import type { Protocol } from "../protocol.ts";
import { createHealthGrpc } from "./health-service.ts";
import type { ReflectionHandlers } from "./reflection-handlers.ts";

/** gRPC's health checking (grpc.health.v1). */
export const grpcHealth: Protocol = { name: "grpc-health", grpc: createHealthGrpc };

const PATHS = ["v1", "v1alpha"].map((version) => `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`);

/**
 * Server reflection, v1 and v1alpha, so that grpcurl, buf curl and Postman need no .proto files.
 * The handlers are loaded with the first call: loading them at each start would take longer than our own services.
 */
const createReflectionGrpc: CreateGrpcProtocol = () => {
  let handlers: Promise<ReflectionHandlers> | undefined;
  const answer = async (path: string, exchange: StreamExchange) => {
    handlers ??= import("./reflection-handlers.ts").then(({ createReflectionHandlers }) => createReflectionHandlers());
    await (await handlers)[path]?.(exchange);
  };
  const toRoute = (path: string): StreamRoute => ({
    kind: "read",
    stream: (exchange) => answer(path, exchange),
    maxBytes: SMALL_REQUEST_BYTES,
  });
  return { routes: Object.fromEntries(PATHS.map((path) => [path, toRoute(path)])) };
};

/** gRPC's server reflection. */
export const grpcReflection: Protocol = { name: "grpc-reflection", grpc: createReflectionGrpc };
