import { type Connect, createConnect } from "./create-connect.ts";
import { GrpcTransport } from "./grpc/grpc-transport.ts";

export * from "./client.ts";

/** Connects to a server of KServe V2 at `http://…`, `https://…`, `grpc://…` or, encrypted, `grpcs://…`. */
export const connect: Connect = createConnect((address, options) => new GrpcTransport(address, options));
