import type { Protocol } from "../protocol.ts";
import { createKibernetikaGrpc } from "./grpc-service.ts";
import { createKibernetikaHttp } from "./http-routes.ts";

/** The original server's protocol. */
export const kibernetika: Protocol = {
  name: "kibernetika",
  grpc: createKibernetikaGrpc,
  http: createKibernetikaHttp,
};
