import type { Http2Server, ServerHttp2Stream, Settings } from "node:http2";
import type { Metadata, Server, ServerInterceptingCallInterface } from "@grpc/grpc-js";
import type { GrpcStatus } from "./grpc-errors.ts";

/**
 * The private members of grpc-js that this folder touches, all of them: it offers no public way to its HTTP/2 servers, nor to
 * what arrives. A version that has them not is left as it is, which is slower and counts no memory.
 */

/** Of a server. */
export interface ServerInternals {
  commonServerOptions: { settings?: Settings };
  createHttp2Server(credentials: unknown): Http2Server;
}

/** Of a call on the server's side. */
export interface CallInternals {
  readonly stream: ServerHttp2Stream;
  readonly metadata: Metadata;
  readonly incomingEncoding: string;
  decoder: { write(data: Buffer): Buffer[] };
  decompressMessage(framed: Buffer, encoding: string): Uint8Array | Promise<Uint8Array>;
  sendStatus(status: GrpcStatus): void;
}

/** A server's private members; undefined unless it has them all. */
export function serverInternals(server: Server): ServerInternals | undefined {
  const { commonServerOptions, createHttp2Server } = server as unknown as Partial<ServerInternals>;
  const hasAll = typeof commonServerOptions === "object" && typeof createHttp2Server === "function";
  return hasAll ? (server as unknown as ServerInternals) : undefined;
}

/** A call's private members; undefined unless it has them all. */
export function callInternals(call: ServerInterceptingCallInterface): CallInternals | undefined {
  const { stream, metadata, incomingEncoding, decoder, decompressMessage } = call as unknown as Partial<CallInternals>;
  const hasState = typeof stream === "object" && typeof metadata === "object" && typeof incomingEncoding === "string";
  const hasAll = hasState && typeof decoder?.write === "function" && typeof decompressMessage === "function";
  return hasAll ? (call as unknown as CallInternals) : undefined;
}
