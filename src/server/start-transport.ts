import type { Socket } from "node:net";
import type { AccessPolicy } from "../access/access-policy.ts";
import { markLocal } from "../access/network-address.ts";
import type { GrpcServer, GrpcServerOptions } from "../grpc/grpc-server.ts";
import { TRANSPORT_LIMITS } from "../platform/limits/transport-limits.ts";
import type { Protocol } from "../protocols/protocol.ts";
import type { HttpServer, HttpServerOptions } from "../proxy/http-server.ts";
import type { InferenceService } from "../serving/inference-service.ts";
import type { TransportOptions } from "./transports.ts";

/** Settings with which one transport is started. */
export type Opening = TransportOptions &
  Pick<GrpcServerOptions, "findHttpPort" | "answerOther"> &
  Pick<HttpServerOptions, "grpcPort"> & {
    readonly protocols: readonly Protocol[];
    readonly httpPolicy: AccessPolicy;
    /** True if gRPC's Unix socket is opened elsewhere. Default false. */
    readonly hasNoSocket?: boolean;
  };

/** Imports the gRPC transport, which is heavy. */
export const importGrpc = () => import("../grpc/grpc-server.ts");
/** Imports the HTTP transport, which is heavy. */
export const importHttp = () => import("../proxy/http-server.ts");

/**
 * Starts gRPC on its port and, if there is one, its Unix socket; `shared` = its connections are accepted elsewhere.
 */
export async function startGrpc(
  service: InferenceService,
  options: Opening,
  port: GrpcServerOptions["port"] = options.settings.network.grpcSocketOnly ? "shared" : options.port,
): Promise<GrpcServer> {
  const { createGrpcServer } = await importGrpc();
  const { passOn, hasNoSocket = false } = options;
  const { grpcSocketPath: path, grpcSocketTakeover, grpcSocketOnly, grpcChannelArguments } = options.settings.network;
  const grpc = await createGrpcServer(service, {
    ...options,
    recent: options.page?.recent,
    channelArguments: grpcChannelArguments,
    passOn: passOn && ((client) => passOn(client, true)),
    port,
    fd: options.sockets?.grpc,
  });
  if (path === undefined || hasNoSocket) return grpc;
  const { listenUnix } = await import("../platform/net/unix-socket.ts");
  const accept = (connection: Socket) => grpc.accept(markLocal(connection));
  const socket = await listenUnix(path, accept, {
    takesOver: grpcSocketTakeover,
    connections: options.connections?.ofSidePort(TRANSPORT_LIMITS.unixConnections),
  }).catch(async (reason) => {
    await grpc.close(0);
    throw reason;
  });
  const close = (ms: number) => {
    socket.close();
    return grpc.close(ms);
  };
  return { ...grpc, ...(grpcSocketOnly && { address: `unix:${path}` }), close };
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
