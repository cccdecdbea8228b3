import type { Protocol } from "../protocol.ts";
import { createKserveGrpc } from "./grpc-service.ts";
import { createKserveHttp } from "./http-routes.ts";

/** KServe V2, the Open Inference Protocol. */
export const kserve: Protocol = { name: "kserve", grpc: createKserveGrpc, http: createKserveHttp };
