import type { HttpRoute } from "../../proxy/http-route.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import type { Protocol } from "../protocol.ts";
import { invoke } from "./invoke.ts";

const INVOCATIONS = /^\/invocations\/?(?:\?|$)/;

/** The contract of a container that serves models under Amazon SageMaker: `GET /ping` and `POST /invocations`. */
export const sagemaker: Protocol = {
  name: "sagemaker",
  http: ({ service, grpcPort, log }) => ({
    inference: [
      {
        path: "/invocations",
        find: (url) => (INVOCATIONS.test(url) ? (exchange) => invoke(exchange, { service, grpcPort, log }) : undefined),
      },
    ],
    routes: [pingRoute(service)],
  }),
};

/** Answers 200 without a body while requests can be answered, else 502. */
function pingRoute(service: InferenceService): HttpRoute {
  const answer: HttpRoute["answer"] = async () => {
    const status = service.isReady() ? 200 : 502;
    return { status, contentType: "application/json", body: Buffer.alloc(0) };
  };
  return { method: "GET", path: "/ping", kind: "health", answer };
}
