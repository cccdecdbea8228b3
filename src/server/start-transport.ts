import type { Socket } from "node:net";
import type { AccessPolicy } from "../access/access-policy.ts";
import { markLocal } from "../access/local-host.ts";
import type { GrpcServer, GrpcServerOptions } from "../grpc/grpc-server.ts";
import { TRANSPORT_LIMITS } from "../limits/transport-limits.ts";
import type { Protocol } from "../protocols/protocol.ts";
import type { HttpServer, HttpServerOptions } from "../proxy/http-server.ts";
import type { InferenceService } from "../serving/inference-service.ts";
import type { TransportOptions } from "./transports.ts";

/** Settings with which one transport is started. */
export type Opening = TransportOptions &
  Pick<GrpcServerOptions, "findHttpPort"> &
  Pick<HttpServerOptions, "grpcPort"> & {
    readonly protocols: readonly Protocol[];
    readonly httpPolicy: AccessPolicy;
  };

/** Imports the gRPC transport, which is heavy. */
export const importGrpc = () => import("../grpc/grpc-server.ts");
/** Imports the HTTP transport, which is heavy. */
export const importHttp = () => import("../proxy/http-server.ts");

/**
 * Starts gRPC on its port and, where there is one, its Unix socket; `shared` = its connections are accepted elsewhere.
 */
export async function startGrpc(
  service: InferenceService,
  { grpcSocketPath: path, grpcChannelArguments: channelArguments, passOn, ...options }: Opening,
  port: GrpcServerOptions["port"] = options.grpcSocketOnly ? "shared" : options.port,
): Promise<GrpcServer> {
  const { createGrpcServer } = await importGrpc();
  const grpc = await createGrpcServer(service, {
    ...options,
    recent: options.page?.recent,
    channelArguments,
    passOn: passOn && ((client) => passOn(client, true)),
    port,
    fd: options.sockets?.grpc,
  });
  if (path === undefined) return grpc;
  const { listenUnix } = await import("../net/unix-socket.ts");
  const accept = (connection: Socket) => grpc.accept(markLocal(connection));
  const socket = await listenUnix(path, accept, {
    takesOver: options.grpcSocketTakeover,
    connections: options.connections?.ofSidePort(TRANSPORT_LIMITS.unixConnections),
  }).catch(async (reason) => {
    await grpc.close(0);
    throw reason;
  });
  const close = (ms: number) => {
    socket.close();
    return grpc.close(ms);
  };
  return { ...grpc, ...(options.grpcSocketOnly && { address: `unix:${path}` }), close };
}

/** Starts HTTP on a port; `shared` = its connections are accepted elsewhere. */
export async function startHttp(
  service: InferenceService,
  options: Opening,
  port: number | "shared",
): Promise<HttpServer> {
  const { createHttpServer } = await importHttp();
  const { passOn } = options;
  return createHttpServer(service, {
    grpcPort: options.port,
    ...options,
    passOn: passOn && ((client) => passOn(client, false)),
    fd: options.sockets?.http,
    policy: options.httpPolicy,
    port,
  });
}
