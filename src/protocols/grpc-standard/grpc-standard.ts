import type { Protocol } from "../protocol.ts";
import { createHealthGrpc } from "./health-service.ts";
import { createReflectionGrpc } from "./reflection.ts";

/** gRPC's health checking (grpc.health.v1). */
export const grpcHealth: Protocol = { name: "grpc-health", grpc: createHealthGrpc };

/** gRPC's server reflection. */
export const grpcReflection: Protocol = { name: "grpc-reflection", grpc: createReflectionGrpc };
